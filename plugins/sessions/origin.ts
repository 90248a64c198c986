import { GatewayError } from "propylon";
import { isLoopback } from "propylon/kit";

/** Name of the cookie over TLS: browsers take such a one from this host alone, by TLS, for all paths (RFC 6265bis section 4.1.3.2). */
export const SECURE_COOKIE = "__Host-propylon";

/** Where a page stands that makes a request. */
export interface OwnOrigin {
  /** Name of the cookie that it gets. Ports share cookies, so over plain HTTP the name has the port. */
  readonly cookie: string;
  readonly isSecure: boolean;
}

/** Name of the cookie over plain HTTP. */
export function plainCookie(host: string): string {
  return `propylon-${/:(\d+)$/.exec(host)?.[1] ?? "80"}`;
}

/**
 * Whether an `Origin` is the gateway itself. Being allowed by the listener is not enough: a page of another origin that may call
 * the gateway with a key must not use somebody's cookie.
 */
export function isOwn(origin: string, host: string, publicUrl: string | undefined): boolean {
  const lower = origin.toLowerCase();
  const own = host.toLowerCase();
  if (lower === `http://${own}` || lower === `https://${own}`) return true;
  return publicUrl !== undefined && lower === new URL(publicUrl).origin;
}

/**
 * Where the page stands that signs in.
 *
 * @throws {GatewayError} `forbidden` without an `Origin` of the gateway, and for plain HTTP from another machine, where the cookie
 * could be read on the way
 */
export function ownOriginOf(
  headers: Pick<Headers, "get">,
  publicUrl: string | undefined,
): OwnOrigin {
  const origin = headers.get("origin");
  const host = headers.get("host") ?? "";
  if (origin === null || !isOwn(origin, host, publicUrl))
    throw new GatewayError("forbidden", "Sessions are for pages of this gateway alone.", {
      hint: "Send an Origin header with the gateway's own URL; programs send their key with each request.",
    });
  if (origin.startsWith("https:")) return { cookie: SECURE_COOKIE, isSecure: true };
  if (isLoopback(new URL(origin).hostname)) return { cookie: plainCookie(host), isSecure: false };
  throw new GatewayError("forbidden", "A session over plain HTTP could be read on the way.", {
    hint: "Put TLS in front of the gateway (listeners.<name>.tls or a proxy), or use it on this machine.",
  });
}
