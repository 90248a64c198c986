import { BlockList } from "node:net";
import { addNetwork, familyOf } from "../kit/addresses.ts";
import type { Credentials } from "../plugin/authentication.ts";

/**
 * Proxies in front of the gateway whose word about the address of a client is believed (`auth.trustedProxies`).
 *
 * @example
 * const proxies = new TrustedProxies(["10.0.0.0/8"]);
 * const place = placeOf(proxies.clientOf(socket.remoteAddress, request.headers.get("x-forwarded-for")));
 */
export class TrustedProxies {
  readonly #networks = new BlockList();

  /** @param entries addresses and CIDR blocks */
  constructor(entries: readonly string[]) {
    for (const entry of entries) addNetwork(this.#networks, entry);
  }

  /** The credentials with the client's address in place of the proxy's. The same object where no trusted proxy sent them. */
  see(credentials: Credentials): Credentials {
    const { remoteAddress, headers } = credentials;
    const client = this.clientOf(remoteAddress, String(headers["x-forwarded-for"] ?? ""));
    return client === remoteAddress ? credentials : { ...credentials, remoteAddress: client };
  }

  /**
   * The address that a request comes from.
   *
   * @param remoteAddress who sent it to the gateway
   * @param forwarded its header `X-Forwarded-For`; believed of a trusted proxy only
   */
  clientOf(remoteAddress: string | undefined, forwarded: string | null): string | undefined {
    if (remoteAddress === undefined || !this.#trusts(remoteAddress)) return remoteAddress;
    return this.#walk(remoteAddress, forwarded ?? "");
  }

  /** From the end: each proxy adds who spoke to it, and what stands in front of the first stranger is the stranger's own words. */
  #walk(proxy: string, forwarded: string): string {
    let client = proxy;
    for (const entry of forwarded.split(",").toReversed()) {
      const address = addressOf(entry);
      if (address === undefined) return client;
      client = address;
      if (!this.#trusts(client)) return client;
    }
    return client;
  }

  #trusts(text: string): boolean {
    const address = plain(text);
    const family = familyOf(address);
    return family !== undefined && this.#networks.check(address, family);
  }
}

/** Some proxies add the port. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim().replace(/^"|"$/g, "");
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, "$1");
  const address = plain(bare);
  return familyOf(address) === undefined ? undefined : address;
}

/** An IPv4 address that came over an IPv6 socket. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
