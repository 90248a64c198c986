import { GatewayError } from "propylon";
import type { Credentials } from "propylon/kit";
import { isOwn, plainCookie, SECURE_COOKIE } from "./origin.ts";

/** Routes that accept a cookie, by the path they are registered with: those that web interfaces ask. */
const ROUTES = /^\/(?:_meta|ui|api)(?:\/|$)/;

/** A cookie of ours as a request brings it. */
export interface SentCookie {
  readonly name: string;
  readonly secret: string;
}

/**
 * The session cookie of a request, if its route takes one.
 *
 * @throws {GatewayError} `forbidden` for a request that another page may have made (cross-site request forgery)
 */
export function cookieOf(
  { method, headers }: Pick<Credentials, "method" | "headers">,
  route: string,
  publicUrl: string | undefined,
): SentCookie | undefined {
  const { cookie, host } = headers;
  if (typeof cookie !== "string" || typeof host !== "string" || !ROUTES.test(route))
    return undefined;
  const found = [SECURE_COOKIE, plainCookie(host)].flatMap((name) => {
    const secret = valueOf(cookie, name);
    return secret === undefined ? [] : [{ name, secret }];
  });
  if (found.length > 0) checkRequest({ method, headers }, host, publicUrl);
  return found[0];
}

/** `undefined` too where a name is there twice: one of them is somebody else's. */
function valueOf(cookie: string, name: string): string | undefined {
  const values = cookie.split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

/**
 * SameSite=Strict keeps other sites out, and not other ports of the same host: a page there could send forms. No form sends JSON,
 * every browser says the origin of all but GET, and says of every request whose it is (Fetch Metadata).
 */
function checkRequest(
  { method, headers }: Pick<Credentials, "method" | "headers">,
  host: string,
  publicUrl: string | undefined,
): void {
  const { origin, "content-type": type = "", "sec-fetch-site": site = "same-origin" } = headers;
  const isForeign = typeof origin === "string" && !isOwn(origin, host, publicUrl);
  if (isForeign || (site !== "same-origin" && site !== "none"))
    throw new GatewayError("forbidden", "A session is only valid for pages of this gateway.");
  if (method === "GET" || method === "HEAD") return;
  if (typeof origin !== "string" || !/^application\/json\s*(?:;|$)/i.test(String(type)))
    throw new GatewayError("forbidden", "A change by session needs an Origin and JSON.", {
      hint: "Send Origin and content-type: application/json, also without a body.",
    });
}

/** The header that gives a browser its cookie. */
export function setCookie(name: string, secret: string, isSecure: boolean): string {
  return `${name}=${secret}; Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
}

/** The header that removes it. */
export function dropCookie(name: string): string {
  return `${setCookie(name, "", name === SECURE_COOKIE)}; Max-Age=0`;
}
