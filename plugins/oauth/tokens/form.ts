import type { RouteEvent } from "propylon";
import { OauthError } from "../oauth-error.ts";

/** Largest body of a request, in bytes. */
export const MAX_BODY = 16 * 1024;
/** Longest value, in characters. */
const MAX_VALUE = 4_096;
const MAX_FIELDS = 50;

/** Parameters by name; an empty one counts as absent (RFC 6749 section 3.1). */
export type Parameters = ReadonlyMap<string, string>;

/** @throws {OauthError} `invalid_request` for another type, and as {@link readParameters} */
export async function readForm({ req }: RouteEvent): Promise<Parameters> {
  const type = req.headers.get("content-type") ?? "";
  const text = await req.text();
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type))
    throw new OauthError(
      "invalid_request",
      "The body must be a form: application/x-www-form-urlencoded.",
    );
  return readParameters(new URLSearchParams(text));
}

/** @throws {OauthError} `invalid_request` for one that stands there twice: two readers could take different ones */
export function readParameters(query: URLSearchParams): Parameters {
  const found = new Map<string, string>();
  if (query.size > MAX_FIELDS)
    throw new OauthError("invalid_request", "There are too many parameters.");
  for (const [name, value] of query) {
    if (found.has(name))
      throw new OauthError(
        name === "resource" ? "invalid_target" : "invalid_request",
        "A parameter stands in the request twice.",
      );
    if (value.length > MAX_VALUE)
      throw new OauthError("invalid_request", "A parameter is too long.");
    found.set(name, value);
  }
  for (const [name, value] of found) if (value === "") found.delete(name);
  return found;
}

/** @throws {OauthError} `invalid_request` where it is missing */
export function required(
  parameters: Parameters,
  name:
    | "client_id"
    | "code"
    | "code_verifier"
    | "grant_type"
    | "redirect_uri"
    | "refresh_token"
    | "token",
): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OauthError("invalid_request", `The parameter ${name} is missing.`);
}
