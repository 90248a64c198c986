import { isObject } from "propylon/kit";
import { Mismatch, providerFault } from "./faults.ts";

/** A bearer token that can stand in a header (RFC 6750 section 2.1). */
const BEARER = /^[\x21-\x7e]{1,16384}$/;
/** Types of tokens that are worth nothing without a proof, which the gateway does not make. */
const PROVEN: readonly string[] = ["dpop", "mac"];
/** Ten years. Longer lives no longer give a date. */
const MAX_LIFE_S = 315_360_000;

/**
 * The answer of a token endpoint as RFC 6749 section 5 has it. Servers send optional members as null, other success codes than 200,
 * errors with 200, `token_type` under a name of their own: what is clear in spite of it is taken.
 *
 * @throws {GatewayError} `upstream_error`, with what was expected and what came
 */
export async function readTokenAnswer(response: Response): Promise<Response> {
  const body: unknown = await response.json().catch(() => undefined);
  if (response.status >= 500) throw statusFault(response, body);
  if (!isObject(body)) {
    if (!response.ok) throw statusFault(response, body);
    throw providerFault(
      "its answer to the token request is not a JSON object",
      new Mismatch("a JSON object with access_token", cameOf(response, body)),
    );
  }
  const { error, error_description: description } = body;
  // As an error whatever its status is: the library looks at a challenge before it reads the error (RFC 6749 section 5.2 has both).
  if (typeof error === "string" && error !== "" && !isText(body["access_token"]))
    return Response.json({ error, error_description: description }, { status: 400 });
  if (!response.ok) throw statusFault(response, body);
  return Response.json(cleanAnswer(response, body));
}

function cleanAnswer(response: Response, body: Record<string, unknown>): object {
  const { access_token: token, refresh_token: refresh, id_token: identity } = body;
  if (!isText(token))
    throw providerFault(
      "its answer has no access_token",
      new Mismatch("access_token as text", cameOf(response, body)),
    );
  if (!BEARER.test(token))
    throw providerFault(
      "its access_token does not fit into a header",
      new Mismatch("1 to 16384 printable characters", `${token.length} characters`),
    );
  checkType(body["token_type"]);
  return {
    access_token: token,
    token_type: "bearer",
    ...(isText(refresh) && { refresh_token: refresh }),
    ...(isText(identity) && { id_token: identity }),
    ...lifeOf(body["expires_in"]),
    ...scopeOf(body["scope"]),
  };
}

/** Whatever else a server calls its tokens, they go into the one header that there is: Slack's are of the type `user`. */
function checkType(type: unknown): void {
  const name = isText(type) ? type.toLowerCase() : "bearer";
  if (!PROVEN.includes(name)) return;
  throw providerFault(
    `its tokens are of the type ${name}, which the gateway cannot use`,
    new Mismatch("token_type Bearer", `token_type ${name}`),
  );
}

/** Some write it as text; another text says nothing. */
function lifeOf(life: unknown): { readonly expires_in?: number } {
  const seconds = isText(life) ? Number(life) : life;
  if (typeof seconds !== "number" || !(seconds >= 0)) return {};
  return { expires_in: Math.min(seconds, MAX_LIFE_S) };
}

/** A text with spaces; some send a list. */
function scopeOf(scope: unknown): { readonly scope?: string } {
  const text = Array.isArray(scope) ? scope.filter(isText).join(" ") : scope;
  return isText(text) ? { scope: text } : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function statusFault(response: Response, body: unknown): Error {
  return providerFault(
    `it answered the token request with HTTP ${response.status}`,
    new Mismatch("HTTP 200 with access_token", cameOf(response, body)),
  );
}

/** Status, type and names of members: their values may be secrets. */
function cameOf({ status, headers }: Response, body: unknown): string {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  const kind = type === "" ? "without a type" : type;
  if (!isObject(body)) return `HTTP ${status}, ${kind}`;
  const names = Object.keys(body).slice(0, 20);
  return `HTTP ${status}, ${kind} with ${names.join(", ") || "no member"}`;
}
