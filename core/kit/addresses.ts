import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { GatewayError } from "./errors.ts";

/** Networks that are not the public Internet (IANA special-purpose registries), or speak for one that is not. */
const RESERVED_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
  // Azure's metadata and DNS, on a public address.
  ["168.63.129.16", 32],
] as const;
/** Only global unicast is public; NAT64, mapped, local, multicast and metadata addresses lie outside it, these inside it. */
const GLOBAL_V6 = ["2000::", 3] as const;
const RESERVED_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;
/** Where clouds keep the credentials of the machine: not even a host that is allowed by name may lead there. */
const METADATA = [
  ["169.254.0.0", 16],
  ["100.100.100.200", 32],
  ["168.63.129.16", 32],
  ["192.0.0.192", 32],
  ["fd00:ec2::254", 128],
  ["fe80::", 10],
] as const;

/** This machine alone. */
const LOOPBACK = blockList([
  ["127.0.0.0", 8],
  ["::1", 128],
]);
const RESERVED = blockList(RESERVED_V4);
const GLOBAL = blockList([GLOBAL_V6]);
const RESERVED_INSIDE = blockList(RESERVED_V6);
const NEVER_BY_NAME = blockList(METADATA);

/**
 * Finds every address of a name, as `dns.lookup` does.
 *
 * @example const resolve: Resolve = (host, options, done) => done(null, [{ address: "203.0.113.7", family: 4 }]);
 */
export type Resolve = (
  host: string,
  options: { readonly all: true },
  done: (error: Error | null, found: { address: string; family: number }[]) => void,
) => void;

/**
 * Which addresses a URL that somebody else chose may lead to: public ones, and those that the operator allows. A client that may name
 * any URL reaches what the gateway reaches: loopback, the private network, the credentials that clouds serve on a link-local address.
 *
 * @example
 * const addresses = new AllowedAddresses(config.allowedAddresses, "plugins.mine.allowedAddresses");
 * if (!addresses.permitsUrl(new URL(card.url))) throw new GatewayError("forbidden", "That address is not public.");
 */
export class AllowedAddresses {
  readonly #networks = new BlockList();
  readonly #hosts = new Set<string>();
  readonly #option: string;

  /**
   * @param allow host names, addresses and CIDR blocks besides the public ones
   * @param option where `allow` stands, for messages, e.g. `push.allow`
   * @throws {GatewayError} `invalid` for an entry that is none of them
   */
  constructor(allow: readonly string[], option: string) {
    this.#option = option;
    for (const entry of allow) this.#add(entry.toLowerCase());
  }

  /** Whether a URL may be connected to, as far as can be said before its name is resolved. */
  permitsUrl({ hostname }: URL): boolean {
    const host = unbracket(hostname);
    const isAddress = /^[\d.]+$/.test(host) || host.includes(":");
    return !isAddress || this.permits(host);
  }

  /**
   * A `lookup` for connections: it fails where a name leads to an address that is not allowed. The connection goes to the very
   * address that was checked, so that a resolver that answers differently the second time gains nothing. It is not asked for
   * URLs with an address in place of a name: {@link permitsUrl}.
   *
   * @param refusal makes the error
   */
  guard(refusal: () => Error, resolve: Resolve = lookup): LookupFunction {
    return (host, options, done) => {
      resolve(host, { all: true }, (error, found) => {
        // Node gives no list with an error, whatever its types say.
        const first = error ? undefined : found[0];
        if (error || !first) return done(error ?? refusal(), "");
        // One private address among public ones is what an attacker would add.
        if (!found.every(({ address }) => this.permits(address, host))) return done(refusal(), "");
        if (options.all === true) return done(null, found);
        return done(null, first.address, first.family);
      });
    };
  }

  /** Whether a connection to an address may be made; `host` is the name that led to it, if one did. */
  permits(address: string, host?: string): boolean {
    const family = familyOf(address);
    if (family === undefined) return false;
    if (this.#networks.check(address, family) || isPublic(address, family)) return true;
    return (
      host !== undefined &&
      this.#hosts.has(host.toLowerCase()) &&
      !NEVER_BY_NAME.check(address, family)
    );
  }

  #add(entry: string): void {
    if (addNetwork(this.#networks, entry)) return;
    if (HOST.test(entry)) this.#hosts.add(entry);
    else
      throw new GatewayError(
        "invalid",
        `"${entry}" in ${this.#option} is not a host, address or network.`,
        {
          hint: "Write a name such as hooks.internal, an address, or a block such as 10.1.0.0/16.",
        },
      );
  }
}

/**
 * A host as sockets take it: an IPv6 address without the brackets that it has in a URL (RFC 3986 section 3.2.2).
 *
 * @example connect({ host: unbracket(new URL(text).hostname), port });
 */
export function unbracket(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/**
 * Whether a host or address is reached from this machine only; what is not certain counts as reachable from others.
 *
 * @example if (!isLoopback(options.host)) log.warn("reachable from other machines");
 */
export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const address = unbracket(host);
  const family = familyOf(address);
  return family !== undefined && LOOPBACK.check(address, family);
}

/** Whether an address means every interface. */
export function isUnspecified(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

/** An address as it stands in a URL or Host header: IPv6 in brackets, IPv4 in IPv6 unwrapped. */
export function bracket(address: string): string {
  const bare = address
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, "")
    .replace(/%.*$/, "");
  return isIPv6(bare) ? `[${bare}]` : bare;
}

/**
 * The URL of a listener, as this machine reaches it: nobody can connect to "every interface".
 *
 * @example const url = listenerUrl({ host: "0.0.0.0", port: 8080 }); // "http://localhost:8080"
 */
export function listenerUrl({ host, port, tls }: ListenerPlace): string {
  const name = isUnspecified(host) ? "localhost" : bracket(host);
  return `${tls ? "https" : "http"}://${name}:${port}`;
}

/** Where a listener is, by its config or as it was bound. */
interface ListenerPlace {
  readonly host: string;
  readonly port: number;
  /** Absent or false: plain HTTP. */
  readonly tls?: unknown;
}

/** Adds an address or a CIDR block to a list; `false` for a text that is neither. */
export function addNetwork(list: BlockList, entry: string): boolean {
  const [address = "", bits, ...rest] = unbracket(entry).split("/");
  const family = familyOf(address);
  if (!family || rest.length > 0 || !(bits === undefined || /^\d{1,3}$/.test(bits))) return false;
  const longest = family === "ipv4" ? 32 : 128;
  const length = Number(bits ?? longest);
  if (length <= longest) list.addSubnet(address, length, family);
  return length <= longest;
}

/** Whether a text is an address or a CIDR block. */
export function isNetwork(entry: string): boolean {
  return addNetwork(new BlockList(), entry);
}

/** A name, no wildcard, no port. */
const HOST = /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?$/;

function isPublic(address: string, family: "ipv4" | "ipv6"): boolean {
  if (family === "ipv4") return !RESERVED.check(address, family);
  return GLOBAL.check(address, family) && !RESERVED_INSIDE.check(address, family);
}

/** `undefined` for a text that is not an address. */
export function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  // A zone (fe80::1%eth0) names an interface of this machine.
  const version = address.includes("%") ? 0 : isIP(address);
  return version === 0 ? undefined : version === 4 ? "ipv4" : "ipv6";
}

function blockList(networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [address, length] of networks)
    list.addSubnet(address, length, isIP(address) === 4 ? "ipv4" : "ipv6");
  return list;
}

/**
 * Whether a document may name an address that the gateway then talks to, with its operator's headers: one on the document's own
 * host, the same over TLS at most. Any other could reach inside the operator's network.
 *
 * @param url what the document names
 * @param document where the document is, or the operator said it is
 *
 * @example
 * if (!isSameHost(new URL(card.url), documentUrl)) throw new GatewayError("invalid", "The card names another host.");
 */
export function isSameHost(url: URL, document: URL): boolean {
  const isUpgrade = document.protocol === "http:" && url.protocol === "https:";
  return url.origin === document.origin || (isUpgrade && url.hostname === document.hostname);
}
