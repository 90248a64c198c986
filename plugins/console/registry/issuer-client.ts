import { GatewayError, isGatewayError } from "propylon";
import {
  FIRST_PROBLEM,
  HttpClient,
  type HttpClientReply,
  networkReason,
  parseJson,
  timeoutSignal,
} from "propylon/kit";
import { z, type ZodType } from "zod";
import type { ConsoleOptions } from "../options.ts";

/** Largest answer in bytes, and its deepest nesting: a team, its token and its workspaces. */
const MAX_ANSWER = 4 * 1024 * 1024;
const MAX_DEPTH = 16;
/** A workspace with many instances that is deleted does not flood the issuer. */
const MAX_CONNECTIONS = 8;
/** Longest token that is taken, in characters. */
const MAX_TOKEN = 16_384;

const token = z
  .string()
  .max(MAX_TOKEN)
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/);
const createdSchema = z.object({ jwt: token.optional(), active: z.boolean().optional() });
const rotatedSchema = z.object({ jwt: token });
const teamSchema = z.object({
  active: z.boolean(),
  active_jti: z.string().nullish(),
  workspace_ids: z.array(z.string()).max(1_000),
});

/** A team as the issuer has it. */
export type IssuerTeam = z.output<typeof teamSchema>;

/** One request about a team. */
export interface IssuerCall {
  readonly team: string;
  /** Goes into the issuer's audit and into our log. */
  readonly correlation: string;
  readonly signal: AbortSignal;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly call: IssuerCall;
}

/** The REST of the issuer of the teams' tokens. */
export class IssuerClient {
  readonly #options: NonNullable<ConsoleOptions["issuer"]>;
  readonly #base: string;
  readonly #http: HttpClient;

  constructor(options: NonNullable<ConsoleOptions["issuer"]>) {
    this.#options = options;
    this.#base = `${options.url.replace(/\/+$/, "")}/mcp_server/api/teams/`;
    this.#http = new HttpClient({
      maxResult: MAX_ANSWER,
      connectTimeout: options.timeout,
      connections: MAX_CONNECTIONS,
      network: toFault,
      tooLarge: (limit) => fault(`answered with more than ${limit} bytes`),
    });
  }

  /** Makes a team. Without a token in the answer there was one already, whose token nobody gets again. */
  async create(call: IssuerCall, name: string): Promise<z.output<typeof createdSchema>> {
    const body = { id: call.team, name };
    const answer = await this.#send({ method: "POST", path: "", body, call }, createdSchema);
    if (answer) return answer;
    throw fault("has no teams at this URL (HTTP 404)");
  }

  /** @returns `undefined` for an unknown team */
  read(call: IssuerCall): Promise<IssuerTeam | undefined> {
    return this.#send({ method: "GET", path: `${call.team}/`, call }, teamSchema);
  }

  /** @returns whether there was such a team */
  async delete(call: IssuerCall): Promise<boolean> {
    const path = `${call.team}/`;
    return (await this.#send({ method: "DELETE", path, call }, z.unknown())) !== undefined;
  }

  /** Replaces the workspaces of a team. @returns whether there is such a team */
  async assign(call: IssuerCall, workspaces: readonly string[]): Promise<boolean> {
    const path = `${call.team}/workspaces/`;
    const body = { workspace_ids: workspaces };
    return (await this.#send({ method: "PUT", path, body, call }, z.unknown())) !== undefined;
  }

  /** Makes a new token for a team; the previous one is worth nothing from then on. */
  async rotate(call: IssuerCall): Promise<string> {
    const path = `${call.team}/rotate/`;
    const answer = await this.#send({ method: "POST", path, call }, rotatedSchema);
    if (answer) return answer.jwt;
    throw fault("does not know this team (HTTP 404)", { data: { status: 404 } });
  }

  close(): Promise<void> {
    return this.#http.destroy();
  }

  /** @returns `undefined` for 404 @throws {GatewayError} `upstream_error`, with `data.status` when it refused; `timeout` */
  async #send<T>({ method, path, body, call }: Sent, schema: ZodType<T>): Promise<T | undefined> {
    const limit = timeoutSignal(this.#options.timeout);
    try {
      const reply = await this.#http.send(new URL(path, this.#base), {
        method,
        headers: this.#headers(call.correlation),
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.any([call.signal, limit]),
      });
      return await read(reply, schema);
    } catch (error) {
      if (!limit.aborted || call.signal.aborted) throw error;
      const seconds = this.#options.timeout / 1_000;
      throw new GatewayError("timeout", `The issuer did not answer within ${seconds} s.`);
    }
  }

  #headers(correlation: string): Record<string, string> {
    const { username, password } = this.#options;
    const pair = Buffer.from(`${username}:${password}`).toString("base64");
    return {
      authorization: `Basic ${pair}`,
      accept: "application/json",
      "content-type": "application/json",
      "x-request-id": correlation,
    };
  }
}

/** Whether the issuer has looked at a request and refused it, so that nothing has changed there. */
export function isRefusal(error: unknown): boolean {
  const status = isGatewayError(error) ? Number(error.data?.["status"]) : Number.NaN;
  return status >= 400 && status < 500;
}

async function read<T>(reply: HttpClientReply, schema: ZodType<T>): Promise<T | undefined> {
  const { status } = reply;
  if (status < 200 || status >= 300) {
    reply.drop();
    if (status === 404) return undefined;
    throw fault(wordsOf(status), { data: { status } });
  }
  const bytes = await reply.bytes();
  try {
    const { data } = schema.safeParse(
      bytes.length === 0 ? {} : parseJson(bytes, MAX_DEPTH),
      FIRST_PROBLEM,
    );
    if (data !== undefined) return data;
  } catch {
    // Told below: what it says is not repeated, since it may hold a token.
  }
  throw fault("answered with something else than its interface says");
}

function wordsOf(status: number): string {
  if (status === 401 || status === 403) return `refuses the service account (HTTP ${status})`;
  if (status < 400) return `redirects (HTTP ${status}), which is not followed`;
  return `answered with HTTP ${status}`;
}

function toFault(error: unknown): Error {
  if (isGatewayError(error)) return error;
  return fault(`cannot be reached: ${networkReason(error)}`, { cause: error });
}

function fault(
  what: string,
  details: { readonly data?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
): GatewayError {
  return new GatewayError("upstream_error", `The issuer ${what}.`, {
    ...details,
    hint: "Check plugins.console.issuer, and whether the issuer runs.",
  });
}
