import type { ListenerConfig } from "../config/schema.ts";
import { GatewayError } from "../kit/errors.ts";
import { bracket, isLoopback, isUnspecified } from "../kit/addresses.ts";

/** A name or address with or without a port; no wildcard inside a name. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** Where a listener is bound, and under which names people reach it. */
export interface BoundAddress {
  /** Address as bound, e.g. `127.0.0.1` or `::`. */
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  readonly publicUrl: string | undefined;
}

/**
 * Decides which Host and Origin headers a listener accepts. A browser page of a stranger can reach a local port by
 * pointing its own name at 127.0.0.1; its requests then carry that name, and that is what is refused here.
 */
export class Hosts {
  /** Accepted Host values, lower case, port included where it is not the scheme's default. */
  readonly #hosts = new Set<string>();
  /** Accepted host names with any port, from `allowedHosts` entries without one. */
  readonly #names = new Set<string>();
  readonly #origins = new Set<string>();
  readonly #anyHost: boolean;
  readonly #anyOrigin: boolean;
  /** Bound to every interface: the address a connection came in on is then a name of ours too. */
  readonly #everywhere: BoundAddress | undefined;

  /** @throws {GatewayError} `invalid` for an entry of `allowedHosts` or `allowedOrigins` that can never match */
  constructor(
    around: BoundAddress,
    config: Pick<ListenerConfig, "allowedHosts" | "allowedOrigins">,
  ) {
    this.#everywhere = isUnspecified(around.address) ? around : undefined;
    for (const name of ownNames(around.address)) this.#addHost(name, around);
    if (around.publicUrl !== undefined) this.#addUrl(new URL(around.publicUrl));
    this.#anyHost = config.allowedHosts.includes("*");
    this.#anyOrigin = config.allowedOrigins.includes("*");
    for (const host of config.allowedHosts) if (host !== "*") this.#allowHost(host);
    for (const origin of config.allowedOrigins)
      if (origin !== "*") this.#origins.add(normalOrigin(origin));
  }

  /**
   * Whether a Host header is one of ours.
   * @param localAddress address the connection came in on
   */
  allowsHost(host: string, localAddress: string | undefined): boolean {
    if (this.#anyHost || this.#hosts.has(host)) return true;
    const lower = host.toLowerCase();
    if (this.#hosts.has(lower) || this.#names.has(withoutPort(lower))) return true;
    if (this.#everywhere === undefined || localAddress === undefined) return false;
    return hostForms(bracket(localAddress), this.#everywhere).includes(lower);
  }

  /**
   * Whether an Origin header is one of ours, or equal to the Host of the same request, which must have been allowed before.
   */
  allowsOrigin(origin: string, host: string): boolean {
    if (this.#anyOrigin || this.#origins.has(origin)) return true;
    const lower = origin.toLowerCase();
    if (this.#origins.has(lower)) return true;
    const own = host.toLowerCase();
    return lower === `http://${own}` || lower === `https://${own}`;
  }

  #addHost(name: string, around: Pick<BoundAddress, "port" | "tls">): void {
    for (const host of hostForms(name, around)) {
      this.#hosts.add(host);
      this.#origins.add(`${around.tls ? "https" : "http"}://${host}`);
    }
  }

  #addUrl(url: URL): void {
    const tls = url.protocol === "https:";
    this.#addHost(url.hostname, {
      port: url.port === "" ? defaultPort(tls) : Number(url.port),
      tls,
    });
  }

  #allowHost(entry: string): void {
    const host = entry.toLowerCase();
    if (!HOST.test(host)) {
      throw new GatewayError("invalid", `"${entry}" in allowedHosts is not a host name.`, {
        hint: 'Write a name or address, with or without a port, such as "gateway.example.org" or "10.0.0.5:8080"; "*" alone allows every Host.',
      });
    }
    if (withoutPort(host) === host) this.#names.add(host);
    else this.#hosts.add(host);
    this.#origins.add(`http://${host}`).add(`https://${host}`);
  }
}

function ownNames(address: string): string[] {
  const local = ["localhost", "127.0.0.1", "[::1]"];
  if (isUnspecified(address)) return local;
  return isLoopback(address) ? [...local, bracket(address)] : [bracket(address)];
}

/** Clients leave the port out when it is the scheme's default. */
function hostForms(name: string, around: Pick<BoundAddress, "port" | "tls">): string[] {
  const full = `${name}:${around.port}`;
  return around.port === defaultPort(around.tls) ? [name, full] : [full];
}

function defaultPort(tls: boolean): number {
  return tls ? 443 : 80;
}

function withoutPort(host: string): string {
  return host.replace(/:\d{1,5}$/, "");
}

function normalOrigin(entry: string): string {
  if (entry === "null") return entry;
  const origin = URL.canParse(entry) ? new URL(entry).origin : "null";
  // Browsers send extension origins verbatim, but URL has no origin for their schemes.
  if (origin === "null" && /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/i.test(entry))
    return entry.toLowerCase();
  if (origin !== "null") return origin;
  throw new GatewayError("invalid", `"${entry}" in allowedOrigins is not an origin.`, {
    hint: 'Write scheme, host and port, such as "https://app.example.org"; "*" alone allows every Origin.',
  });
}
