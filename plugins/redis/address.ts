import { GatewayError } from "propylon";
import { unbracket } from "propylon/internal";
import type { RedisOptions as ClientOptions } from "ioredis";

/** Where a server is, and how to speak to it. */
export interface RedisAddress {
  /** Without credentials, for messages. */
  readonly name: string;
  readonly database: number;
  readonly options: Pick<ClientOptions, "host" | "port" | "db" | "username" | "password" | "tls">;
}

const EXAMPLE =
  "Write redis://user:password@host:6379/0, or rediss:// for TLS, with special characters of the password percent-encoded.";

/**
 * Reads the URL of a server.
 *
 * @throws {GatewayError} `invalid`; never with the URL, which has the password in it
 */
export function readRedisUrl(url: string): RedisAddress {
  try {
    const { protocol, hostname, port, pathname, search, username, password } = new URL(url);
    const host = unbracket(hostname) || "localhost";
    const database = pathname.slice(1) || "0";
    if (search !== "" || !/^\d{1,4}$/.test(database)) throw new TypeError("Not an address.");
    return {
      name: `${hostname || host}:${port || "6379"}/${database}`,
      database: Number(database),
      options: {
        host,
        port: Number(port || "6379"),
        db: Number(database),
        ...(username !== "" && { username: decodeURIComponent(username) }),
        ...(password !== "" && { password: decodeURIComponent(password) }),
        ...(protocol === "rediss:" && { tls: { servername: host } }),
      },
    };
  } catch {
    throw new GatewayError("invalid", "The URL of the store cannot be read.", { hint: EXAMPLE });
  }
}
