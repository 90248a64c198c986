import { type ErrorCode, GatewayError, type Json } from "propylon";
import { type ClientFlags, findTarget, timeoutOf } from "propylon/cli";
import { isObject, timeoutSignal } from "propylon/kit";

/** A request to the administration of a running gateway. */
export interface AdminRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/_meta/team-auth`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
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

/** @throws {GatewayError} what the gateway answers; `upstream_error` when it cannot be reached */
export async function ask(flags: ClientFlags, question: AdminRequest): Promise<Json> {
  const response = await send(flags, question);
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok && isObject(body)) return body;
  throw failure(response.status, body);
}

/** An answer of lines, a piece at a time. @throws {GatewayError} as {@link ask} */
export async function askLines(
  flags: ClientFlags,
  question: AdminRequest,
  write: (piece: Uint8Array) => unknown,
): Promise<void> {
  const response = await send(flags, question);
  if (!response.ok || !response.body)
    throw failure(response.status, await response.json().catch(() => undefined));
  for await (const piece of response.body) write(piece);
}

async function send(
  flags: ClientFlags,
  { method = "GET", path, query = {}, body }: AdminRequest,
): Promise<Response> {
  const { url: endpoint, apiKey } = await findTarget(flags);
  const url = new URL(`/_meta/team-auth${path}`, endpoint);
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

function failure(status: number, body: unknown): GatewayError {
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { message = `The gateway answered ${status}.`, hint } = error;
  const otherwise =
    status === 404
      ? "The gateway needs the plugin team-auth."
      : "Check the target and the key (--api-key or PROPYLON_API_KEY).";
  return new GatewayError(CODES[status] ?? "upstream_error", String(message), {
    hint: typeof hint === "string" ? hint : otherwise,
  });
}
