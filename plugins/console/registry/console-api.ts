import { type ErrorCode, GatewayError } from "propylon";
import {
  FIRST_PROBLEM,
  HttpClient,
  networkReason,
  parseDuration,
  parseJson,
  timeoutSignal,
} from "propylon/kit";
import { ERROR_STATUS } from "propylon/internal";
import { z, type ZodType } from "zod";

/** Where a console is, and what it is shown. */
export interface ConsoleAccess {
  readonly url: string;
  readonly apiKey?: string;
  readonly timeout: string;
}

/** Largest answer in bytes, and its deepest nesting. */
const MAX_ANSWER = 256 * 1024 * 1024;
const MAX_DEPTH = 32;

const refusalSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    hint: z.string().optional(),
  }),
});

/** The REST of a console. */
export class ConsoleApi {
  readonly #flags: ConsoleAccess;
  readonly #http = new HttpClient({
    maxResult: MAX_ANSWER,
    network: (error) => unreachable(networkReason(error)),
    tooLarge: () => unreachable("its answer is too large"),
  });

  constructor(flags: ConsoleAccess) {
    this.#flags = flags;
  }

  /** @throws {GatewayError} as the gateway refused; `upstream_error`, `timeout` */
  async ask<T>(method: string, path: string, schema: ZodType<T>, sent?: object): Promise<T> {
    const { url, apiKey, timeout } = this.#flags;
    const target = new URL(`${url.replace(/\/+$/, "")}/api/v1/pallas${path}`);
    const limit = timeoutSignal(parseDuration(timeout, "s")!);
    const headers = {
      accept: "application/json",
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...(sent && { "content-type": "application/json" }),
    };
    try {
      const reply = await this.#http.send(target, {
        method,
        headers,
        ...(sent && { body: JSON.stringify(sent) }),
        signal: limit,
      });
      const body = readBody(await reply.bytes());
      const { data, error } = schema.safeParse(body, FIRST_PROBLEM);
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
  const { data } = refusalSchema.safeParse(body, FIRST_PROBLEM);
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
