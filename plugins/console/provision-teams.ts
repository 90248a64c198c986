import { type ErrorCode, GatewayError, toGatewayError } from "propylon";
import {
  ERROR_STATUS,
  HttpClient,
  networkReason,
  parseDuration,
  parseJson,
  timeoutSignal,
} from "propylon/kit";
import { z, type ZodType } from "zod";

/** Flags of `propylon console provision-teams`. */
export interface ProvisionFlags {
  readonly url: string;
  readonly apiKey?: string;
  readonly timeout: string;
  readonly json?: boolean;
}

/** Largest answer in bytes, and its deepest nesting. */
const MAX_ANSWER = 256 * 1024 * 1024;
const MAX_DEPTH = 32;

const instanceSchema = z.object({
  id: z.string(),
  name: z.string(),
  pallas_team_mnemosyne_status: z.string().nullable(),
  team_reason: z.string().nullable(),
  token: z.enum(["none", "unseen", "shown"]),
});
const listSchema = z.object({ instances: z.array(instanceSchema) });
const tokenSchema = z.object({ jwt: z.string() });
const refusalSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    hint: z.string().optional(),
  }),
});

type Instance = z.output<typeof instanceSchema>;

/** What became of one instance. */
interface ProvisionRow {
  readonly id: string;
  readonly name: string;
  readonly outcome: "provisioned" | "skipped" | "failed";
  readonly jwt?: string;
  readonly reason?: string;
}

/**
 * Walks all instances and prints a row for each as soon as it is known: a token that was shown is not shown again, so none may be lost
 * to a failure further down.
 *
 * @returns the exit code
 * @throws {GatewayError} when the gateway cannot be used
 */
export async function provisionTeams(flags: ProvisionFlags): Promise<number> {
  const api = new ConsoleApi(flags);
  try {
    const { instances } = await api.ask("GET", "", listSchema);
    if (!flags.json) console.log(line("instance", "outcome", "name", "token"));
    let failed = 0;
    for (const instance of instances) {
      const row = await provision(api, instance);
      if (row.outcome === "failed") failed++;
      console.log(flags.json ? JSON.stringify(row) : toLine(row));
    }
    return failed === 0 ? 0 : 1;
  } finally {
    await api.close();
  }
}

/** One that is provisioned and whose token was shown is left alone. */
async function provision(api: ConsoleApi, instance: Instance): Promise<ProvisionRow> {
  const { id, name } = instance;
  const isProvisioned = instance.pallas_team_mnemosyne_status === "provisioned";
  if (isProvisioned && instance.token === "shown") return { id, name, outcome: "skipped" };
  try {
    const now = isProvisioned
      ? instance
      : await api.ask("POST", `/${id}/provision`, instanceSchema);
    if (now.pallas_team_mnemosyne_status !== "provisioned")
      return { id, name, outcome: "failed", reason: now.team_reason ?? "" };
    if (now.token !== "unseen") return { id, name, outcome: "skipped" };
    const { jwt } = await api.ask("POST", `/${id}/reveal`, tokenSchema);
    return { id, name, outcome: "provisioned", jwt };
  } catch (error) {
    return { id, name, outcome: "failed", reason: toGatewayError(error).message };
  }
}

function toLine({ id, outcome, name, jwt, reason }: ProvisionRow): string {
  return line(id, outcome, name, jwt ?? reason ?? "");
}

function line(id: string, outcome: string, name: string, last: string): string {
  return `${id.padEnd(36)}  ${outcome.padEnd(11)}  ${name.padEnd(24)}  ${last}`.trimEnd();
}

/** The REST of a console. */
class ConsoleApi {
  readonly #flags: ProvisionFlags;
  readonly #http = new HttpClient({
    maxResult: MAX_ANSWER,
    network: (error) => unreachable(networkReason(error)),
    tooLarge: () => unreachable("its answer is too large"),
  });

  constructor(flags: ProvisionFlags) {
    this.#flags = flags;
  }

  /** @throws {GatewayError} as the gateway refused; `upstream_error`, `timeout` */
  async ask<T>(method: string, path: string, schema: ZodType<T>): Promise<T> {
    const { url, apiKey, timeout } = this.#flags;
    const target = new URL(`${url.replace(/\/+$/, "")}/api/v1/pallas${path}`);
    const limit = timeoutSignal(parseDuration(timeout, "s")!);
    const headers = {
      accept: "application/json",
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    };
    try {
      const reply = await this.#http.send(target, { method, headers, signal: limit });
      const body = readBody(await reply.bytes());
      const { data, error } = schema.safeParse(body);
      if (reply.status < 300 && !error) return data;
      throw refusalOf(reply.status, body);
    } catch (error) {
      if (!limit.aborted) throw error;
      throw new GatewayError("timeout", `The gateway did not answer within ${timeout}.`);
    }
  }

  close(): Promise<void> {
    return this.#http.destroy();
  }
}

/** @returns `undefined` for what is not JSON */
function readBody(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, MAX_DEPTH);
  } catch {
    return undefined;
  }
}

/** What the gateway said, with its own code where that is one. */
function refusalOf(status: number, body: unknown): GatewayError {
  const { data } = refusalSchema.safeParse(body);
  if (!data) return unreachable(`it answered with HTTP ${status} and is not a console`);
  const { code, message, hint } = data.error;
  const known = Object.hasOwn(ERROR_STATUS, code) ? (code as ErrorCode) : "upstream_error";
  return new GatewayError(known, message, { ...(hint !== undefined && { hint }) });
}

function unreachable(why: string): GatewayError {
  return new GatewayError("upstream_error", `The gateway cannot be used: ${why}.`, {
    hint: "Give its URL with --url, e.g. http://127.0.0.1:8080.",
  });
}
