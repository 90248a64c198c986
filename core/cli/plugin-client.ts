import type { Json } from "../kit/types.ts";
import { type ErrorCode, GatewayError } from "../kit/errors.ts";
import { isObject, scalarText } from "../kit/json.ts";
import { timeoutSignal } from "../kit/timers.ts";
import { type ClientFlags, findTarget, timeoutOf } from "./target.ts";

/** A request of a command to the routes that a plugin of a running gateway has below `/_meta/<its name>`. */
export interface PluginRequest {
  /** Name of the plugin. */
  readonly plugin: string;
  /** Default: `GET`. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Where the plugin has its routes; default: `/_meta/<plugin>`. */
  readonly base?: string;
  /** Below {@link base}, with a slash in front. */
  readonly path: string;
  /** Parameters without a value are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: Json;
}

/** What commands know of the failures that a gateway tells. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "exists",
  422: "invalid",
  429: "rate_limited",
};

/**
 * Asks a plugin of the gateway that the flags name.
 *
 * @returns the object that it answered with
 * @throws {GatewayError} what the gateway answers: `unauthorized`, `forbidden`, `not_found`, `exists`, `invalid` or `rate_limited`;
 * `upstream_error` for anything else, and when it cannot be reached
 * @example const { users } = await askPlugin(flags, { plugin: "team-auth", path: "/users" });
 */
export async function askPlugin(flags: ClientFlags, request: PluginRequest): Promise<Json> {
  const response = await send(flags, request);
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok && isObject(body)) return body;
  throw failure(response.status, body, request);
}

/**
 * As {@link askPlugin}, for an answer of lines, which is handed on a piece at a time.
 *
 * @throws {GatewayError} as {@link askPlugin}
 * @example await askPluginLines(flags, { plugin: "team-auth", path: "/audit" }, (piece) => process.stdout.write(piece));
 */
export async function askPluginLines(
  flags: ClientFlags,
  request: PluginRequest,
  write: (piece: Uint8Array) => unknown,
): Promise<void> {
  const response = await send(flags, request);
  if (!response.ok || !response.body)
    throw failure(response.status, await response.json().catch(() => undefined), request);
  for await (const piece of response.body) write(piece);
}

async function send(
  flags: ClientFlags,
  { plugin, base = `/_meta/${plugin}`, method = "GET", path, query = {}, body }: PluginRequest,
): Promise<Response> {
  const { url: endpoint, apiKey } = await findTarget(flags);
  const url = new URL(`${base}${path}`, endpoint);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value);
  const headers = {
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...(body && { "content-type": "application/json" }),
  };
  return fetch(url, {
    method,
    headers,
    // The key is for this gateway and nobody else.
    redirect: "error",
    signal: timeoutSignal(timeoutOf(flags)),
    ...(body && { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    throw new GatewayError("upstream_error", `The gateway at ${url.origin} cannot be reached.`, {
      cause,
      hint: "Start it with propylon start, or check the URL.",
    });
  });
}

function failure(status: number, body: unknown, { plugin }: PluginRequest): GatewayError {
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { message = `The gateway answered ${status}.`, hint } = error;
  const otherwise =
    status === 404
      ? `The gateway needs the plugin ${plugin}.`
      : "Check the target and the key (--api-key or PROPYLON_API_KEY).";
  return new GatewayError(CODES[status] ?? "upstream_error", scalarText(message), {
    hint: typeof hint === "string" ? hint : otherwise,
  });
}
