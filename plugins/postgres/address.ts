import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { GatewayError } from "propylon";
import type { ClientConfig } from "pg";

/** Where a database is, and how to speak to it. */
export interface DatabaseAddress {
  /** Without credentials, for messages. */
  readonly name: string;
  readonly config: Pick<ClientConfig, "connectionString" | "ssl">;
}

/** Parameters about TLS; they are read here, because `pg` takes every `sslmode` for `verify-full`. */
const TLS = ["sslmode", "sslrootcert", "sslcert", "sslkey"] as const;

/**
 * Reads the URL of a database.
 *
 * @param folder that relative paths of certificates start from
 * @throws {GatewayError} `invalid`; never with the URL, which has the password in it
 */
export function readAddress(url: string, folder: string): DatabaseAddress {
  const parsed = parse(url);
  const tls = Object.fromEntries(TLS.map((name) => [name, parsed.searchParams.get(name)]));
  for (const name of TLS) parsed.searchParams.delete(name);
  const host = parsed.searchParams.get("host") ?? (parsed.hostname || "localhost");
  return {
    name: `${host}:${parsed.port || "5432"}${parsed.pathname}`,
    config: { connectionString: parsed.href, ...tlsOf(tls, folder) },
  };
}

function parse(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw wrong("The URL of the store cannot be read.", EXAMPLE);
  }
}

const EXAMPLE =
  "Write postgres://user:password@host:5432/database, with special characters of the password percent-encoded.";

type TlsParameters = Readonly<Record<string, string | null>>;

/** The meaning that libpq gives to `sslmode`, without those that fall back to plain text. */
function tlsOf(
  { sslmode, sslrootcert, sslcert, sslkey }: TlsParameters,
  folder: string,
): Pick<ClientConfig, "ssl"> {
  const read = (path: string | null | undefined): string | undefined =>
    path ? readCertificate(resolve(folder, path)) : undefined;
  const files = { ca: read(sslrootcert), cert: read(sslcert), key: read(sslkey) };
  const anyName = { checkServerIdentity: () => undefined };
  switch (sslmode) {
    case null:
    case undefined:
      return {};
    case "disable":
      return { ssl: false };
    case "require":
      return {
        ssl: files.ca ? { ...files, ...anyName } : { ...files, rejectUnauthorized: false },
      };
    case "verify-ca":
      return { ssl: { ...files, ...anyName } };
    case "verify-full":
      return { ssl: files };
    default:
      throw wrong(
        `The store's URL has sslmode=${sslmode}, which is not supported.`,
        "Use disable, require, verify-ca or verify-full.",
      );
  }
}

function readCertificate(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new GatewayError("io_error", `The file ${path} of the store's URL cannot be read.`, {
      cause,
      hint: "sslrootcert, sslcert and sslkey are paths of PEM files, relative to the config.",
    });
  }
}

function wrong(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", message, { hint });
}
