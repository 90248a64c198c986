import * as oauth from "oauth4webapi";
import { isLoopback, isObject } from "propylon/kit";
import type { ProviderFetch } from "propylon/internal";
import { Mismatch, providerFault } from "./faults.ts";
import { findMetadata, readableMembers } from "./metadata.ts";

/** An authorization server, as its metadata describe it. */
export type ProviderMetadata = oauth.AuthorizationServer;

/** {@link ProviderFetch} as `oauth4webapi` takes it. Which addresses may be plain http is decided there. */
export function requestOptions(fetch: ProviderFetch): {
  [oauth.allowInsecureRequests]: true;
  [oauth.customFetch]: (url: string, init: object) => Promise<Response>;
} {
  return { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: fetch };
}

/**
 * Reads the metadata of an authorization server (RFC 8414, OpenID Connect Discovery), from the places in which the MCP specification
 * looks for them, in its order. A server's own origin without any has the endpoints of revision 2025-03-26.
 *
 * @param server whose login it is
 * @throws {GatewayError} `upstream_error`
 */
export async function findProvider(
  issuer: URL,
  server: URL,
  fetch: ProviderFetch,
): Promise<ProviderMetadata> {
  const tried: string[] = [];
  const found = await findMetadata(metadataUrls(issuer), "its", fetch, tried);
  if (found) return checked(issuer, found.response);
  if (issuer.href === `${server.origin}/`) return defaultsOf(server.origin);
  throw providerFault(
    "it publishes no metadata",
    new Mismatch(`metadata of ${issuer.href}`, tried.join(", ")),
  );
}

/** MCP 2025-03-26, "Fallbacks for Servers without Metadata Discovery"; that revision wants PKCE of all. */
function defaultsOf(origin: string): ProviderMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}

/** Whether it can be shown to somebody's browser: no `javascript:`, and nothing that others can read. */
export function isBrowsable(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

async function checked(issuer: URL, response: Response): Promise<ProviderMetadata> {
  const copy = response.clone();
  try {
    // A document in which another issuer stands is somebody else's (RFC 8414 section 3.3).
    return readableMembers(await oauth.processDiscoveryResponse(issuer, response));
  } catch {
    const body: unknown = await copy.json().catch(() => undefined);
    const named: unknown = isObject(body) ? body["issuer"] : undefined;
    throw providerFault(
      "its metadata are not those of its issuer",
      new Mismatch(`issuer ${issuer.href}`, typeof named === "string" ? `issuer ${named}` : "none"),
    );
  }
}

function metadataUrls({ origin, pathname }: URL): readonly string[] {
  const path = pathname.replace(/\/$/, "");
  const inserted = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  return path === ""
    ? inserted
    : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}
