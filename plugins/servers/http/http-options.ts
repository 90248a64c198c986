import { GatewayError } from "propylon";
import { AllowedAddresses } from "propylon/kit";
import { connectTimeoutOf, type HttpServerConfig } from "../entry.ts";
import type { ServersOptions } from "../options.ts";
import type { SecureContext } from "node:tls";
import { HttpPool, type HttpPoolOptions, type Pool } from "../pool/http-pool.ts";
import { UndiciPool } from "../pool/undici-pool.ts";

/** Headers that are ours to set; a config that names them would break the protocol. */
const OWN_HEADERS =
  /^(?:accept|accept-encoding|connection|content-length|content-type|transfer-encoding|mcp-.*|last-event-id|traceparent|tracestate|propylon-identity)$/i;

/** Connections to a server, in the way that its entry says. @throws {GatewayError} as {@link connectOptions} */
export function openPool(
  name: string,
  config: HttpServerConfig,
  secureContext: SecureContext | undefined,
  httpClient: ServersOptions["httpClient"] | undefined,
): Pool {
  const url = new URL(config.url);
  const options = { ...connectOptions(name, config), secureContext };
  const isOwn = config.proxy === undefined && httpClient !== "undici";
  return isOwn ? new HttpPool(url, options) : new UndiciPool(url, config.proxy, options);
}

/**
 * How connections to a server are made; a server that somebody else added reaches allowed addresses only.
 * @throws {GatewayError} `upstream_error` when the URL has another address in place of a name
 */
export function connectOptions(name: string, config: HttpServerConfig): HttpPoolOptions {
  const { url, allowAddresses } = config;
  const timeout = connectTimeoutOf(config);
  if (allowAddresses === undefined) return { timeout };
  const addresses = new AllowedAddresses(allowAddresses, `servers.${name}.allowAddresses`);
  const refusal = (): GatewayError =>
    new GatewayError("upstream_error", `Server "${name}" has an address that is not allowed.`, {
      hint: `Name the host in servers.${name}.allowAddresses if the gateway may reach it.`,
    });
  if (!addresses.permitsUrl(new URL(url))) throw refusal();
  return { timeout, lookup: addresses.guard(refusal) };
}

/** Headers of every request to a server: the ones of the config, without those that are the protocol's. */
export function baseHeaders(
  url: URL,
  configured: Readonly<Record<string, string>>,
  userAgent: string,
): string[] {
  const headers = ["user-agent", userAgent, "accept-encoding", "identity"];
  const names = new Set<string>();
  for (const [name, value] of Object.entries(configured)) {
    names.add(name.toLowerCase());
    if (!OWN_HEADERS.test(name)) headers.push(name, value);
  }
  if (url.username !== "" && !names.has("authorization")) {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.push("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  }
  return headers;
}
