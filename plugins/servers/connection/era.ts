import { type Answer, GatewayError, type Json, isGatewayError } from "propylon";
import { isObject, setTimer } from "propylon/kit";
import type { Era } from "propylon/internal";
import { statusOf } from "../wire/faults.ts";
import type { Connection } from "./connection.ts";
import type { Exchange } from "../wire/exchange.ts";
import type { ClientInfo } from "../wire/envelope.ts";
import type { Handshake } from "../wire/wire.ts";

/** The modern revision spoken here. */
export const MODERN_VERSION = "2026-07-28";
/** The legacy revisions spoken here, the one we ask for first. */
export const LEGACY_VERSIONS: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
];

/** Those that are offered one after the other, where a server refuses one. */
const OFFERED = LEGACY_VERSIONS.slice(0, 3);

/** JSON-RPC code with which a server turns down the revision of a request (2026-07-28). */
export const UNSUPPORTED_VERSION = -32022;

/** What the gateway can do for a legacy server; each request goes to the client it belongs to, who may still refuse. */
const CLIENT_CAPABILITIES: Json = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};

/** How to agree on an era. */
export interface NegotiateOptions {
  /** `servers.<name>.protocol`. */
  readonly protocol: "auto" | Era;
  /** What this server spoke last time. */
  readonly remembered: Era | undefined;
  readonly clientInfo: ClientInfo;
  /** How long a server may take to answer `server/discover` before it is asked `initialize` too, in milliseconds. */
  readonly patience: number;
  /** Whether it is spoken to over a pipe. */
  readonly isChild: boolean;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/**
 * Agrees with a server on an era and a revision, and fixes the connection to it. Asks for the modern era first, because only
 * there `input_required` passes 1:1 (decision 0002); whatever refuses or ignores `server/discover` is asked `initialize`.
 * @returns `slow` where a child answers both in the end: it is modern, and `initialize` has made this connection a legacy one
 * @throws {GatewayError} `upstream_error` or `timeout` when there is no agreement; `data.final` is set when asking again is useless
 */
export async function negotiate(
  connection: Connection,
  options: NegotiateOptions,
): Promise<"agreed" | "slow"> {
  const { protocol, remembered, patience } = options;
  if (protocol === "legacy") return initialize(connection, options);
  if (protocol === "modern") return mustDiscover(connection, options);
  const first = remembered === "legacy" ? "refused" : await discover(connection, options, patience);
  if (first === "agreed") return first;
  try {
    await initialize(connection, options);
    return first !== "refused" && (await saidModern(first)) ? "slow" : "agreed";
  } catch (error) {
    const isSpent = connection.isLost || options.signal.aborted;
    if (first !== "refused" && isSpent && (await saidModern(first))) return "slow";
    if (isGatewayError(error) && error.data?.["modern"] === true)
      return await mustDiscover(connection, options);
    if (first === "refused" || !isGatewayError(error) || error.code === "timeout") throw error;
    // It may be modern and have been slow: it is awake now.
    const again = await discover(connection, options, patience);
    if (again === "agreed") return again;
    if (again !== "refused") giveUp(connection, again);
    throw error;
  } finally {
    if (first !== "refused") giveUp(connection, first);
  }
}

async function mustDiscover(connection: Connection, options: NegotiateOptions): Promise<"agreed"> {
  if ((await discover(connection, options, undefined)) === "agreed") return "agreed";
  throw refusal(
    connection,
    `does not speak MCP ${MODERN_VERSION}`,
    "Set protocol of this server to auto or legacy.",
  );
}

/**
 * Asks for the modern era.
 * @param ms how long the answer is waited for; default: as long as the attempt may take
 * @returns `agreed`, `refused`, or the question while it has no answer
 */
async function discover(
  connection: Connection,
  options: NegotiateOptions,
  ms: number | undefined,
): Promise<"agreed" | "refused" | Exchange> {
  connection.probe({ era: "modern", version: MODERN_VERSION });
  // A server may turn down the first request and name the very version it was asked in; one more try settles that.
  for (let attempt = 0; attempt < 2; attempt++) {
    const question = connection.open("server/discover", {}, { signal: options.signal });
    if (!(await isDone(question, ms))) {
      // Over HTTP, a server that does one thing at a time would answer nothing else meanwhile.
      if (!options.isChild) giveUp(connection, question);
      connection.probe(undefined);
      return question;
    }
    const { result, error } = await answerOf(question, options.signal);
    if (result && offers(result["supportedVersions"])) {
      agreeModern(connection, result);
      return "agreed";
    }
    if (
      error?.code !== UNSUPPORTED_VERSION ||
      !isObject(error.data) ||
      !offers(error.data["supported"])
    )
      break;
  }
  connection.probe(undefined);
  return "refused";
}

/** Whether the outcome of a question is known within `ms` milliseconds. */
async function isDone(question: Exchange, ms: number | undefined): Promise<boolean> {
  let timer: ReturnType<typeof setTimer> | undefined;
  const late = new Promise<void>((resolve) => {
    if (ms !== undefined) timer = setTimer(resolve, ms);
  });
  await Promise.race([question.answer.catch(() => undefined), late]);
  clearTimeout(timer);
  return question.done;
}

/**
 * Whether a question was answered for the modern era by now. Requests over a pipe are mostly answered in turn, so a server that is
 * ready late has answered it before `initialize`.
 */
async function saidModern(question: Exchange): Promise<boolean> {
  return question.answered && offers((await question.answer).result?.["supportedVersions"]);
}

function giveUp(connection: Connection, question: Exchange): void {
  if (question.done) return;
  connection.cancelled(question);
  question.fail(new GatewayError("cancelled", "Its answer is no longer waited for."));
}

/** The answer to a question; an empty one where the server refused it without JSON-RPC. */
async function answerOf(question: Exchange, signal: AbortSignal): Promise<Partial<Answer>> {
  try {
    return await question.answer;
  } catch (error) {
    if (!isGatewayError(error) || signal.aborted) throw error;
    const status = statusOf(error);
    // No HTTP status: the network failed, which says nothing about the era.
    if (status === undefined || status === 401 || status === 403 || status === 429) throw error;
    return {};
  }
}

function agreeModern(connection: Connection, result: Json): void {
  const meta = isObject(result["_meta"]) ? result["_meta"] : {};
  const serverInfo = result["serverInfo"] ?? meta["io.modelcontextprotocol/serverInfo"];
  connection.agree({
    era: "modern",
    version: MODERN_VERSION,
    ...about(result),
    serverInfo: isObject(serverInfo) ? serverInfo : undefined,
  });
}

async function initialize(
  connection: Connection,
  { clientInfo, signal }: NegotiateOptions,
): Promise<"agreed"> {
  connection.probe(undefined);
  const self = { capabilities: CLIENT_CAPABILITIES, clientInfo };
  const { result, error } = await offer(connection, self, signal);
  if (error) {
    const modern =
      error.code === UNSUPPORTED_VERSION && isObject(error.data) && offers(error.data["supported"]);
    const what = modern
      ? `speaks only MCP ${MODERN_VERSION}`
      : `refused to initialize: ${error.message} (${error.code})`;
    throw refusal(
      connection,
      what,
      modern ? "Set protocol of this server to auto or modern." : undefined,
      modern,
    );
  }
  const version = result!["protocolVersion"];
  if (typeof version !== "string" || !LEGACY_VERSIONS.includes(version)) {
    throw refusal(connection, `speaks MCP ${String(version)}, which is not spoken here`, undefined);
  }
  const info = result!["serverInfo"];
  connection.agree({
    era: "legacy",
    version,
    ...about(result!),
    serverInfo: isObject(info) ? info : undefined,
  });
  connection.notify("notifications/initialized");
  return "agreed";
}

/** A server should name a revision of its own (2025-11-25, Version Negotiation); some answer a newer one with HTTP 400. */
async function offer(connection: Connection, self: Json, signal: AbortSignal): Promise<Answer> {
  let first: GatewayError | undefined;
  for (const protocolVersion of OFFERED) {
    try {
      const answer = await connection.request(
        "initialize",
        { protocolVersion, ...self },
        { signal },
      );
      if (!refusesVersion(answer) || protocolVersion === OFFERED.at(-1)) return answer;
    } catch (error) {
      if (!isGatewayError(error) || statusOf(error) !== 400) throw error;
      first ??= error;
    }
  }
  throw first!;
}

function refusesVersion({ error }: Answer): boolean {
  return (
    error !== undefined && error.code !== UNSUPPORTED_VERSION && /version/i.test(error.message)
  );
}

function about(result: Json): Pick<Handshake, "capabilities" | "instructions"> {
  const { capabilities, instructions } = result;
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

function offers(versions: unknown): boolean {
  return Array.isArray(versions) && versions.includes(MODERN_VERSION);
}

function refusal(
  connection: Connection,
  what: string,
  hint: string | undefined,
  modern = false,
): GatewayError {
  return new GatewayError("upstream_error", `Server "${connection.name}" ${what}.`, {
    data: { server: connection.name, final: true, ...(modern && { modern }) },
    ...(hint !== undefined && { hint }),
  });
}
