import * as oauth from "oauth4webapi";
import { isLoopback, type ProviderFetch } from "propylon/kit";
import { providerFault } from "./faults.ts";

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
 * looks for them, in its order.
 *
 * @throws {GatewayError} `upstream_error`
 */
export async function findProvider(issuer: URL, fetch: ProviderFetch): Promise<ProviderMetadata> {
  for (const url of metadataUrls(issuer)) {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    if (response.status >= 500)
      throw providerFault(`its metadata answer with HTTP ${response.status}`);
    if (response.status === 200) return checked(issuer, response);
  }
  throw providerFault("it publishes no metadata");
}

/** Whether it can be shown to somebody's browser: no `javascript:`, and nothing that others can read. */
export function isBrowsable(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

async function checked(issuer: URL, response: Response): Promise<ProviderMetadata> {
  try {
    // A document in which another issuer stands is somebody else's (RFC 8414 section 3.3).
    return await oauth.processDiscoveryResponse(issuer, response);
  } catch (error) {
    throw providerFault("its metadata are not those of its issuer", error);
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
