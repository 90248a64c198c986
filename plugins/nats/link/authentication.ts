import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Authenticator, NodeConnectionOptions, TlsOptions } from "@nats-io/transport-node";
import { GatewayError } from "propylon";
import { nameOf, type Identity, type NatsSettings, type TlsFiles } from "../settings.ts";
import type { Packages } from "./packages.ts";

/**
 * Servers, credentials and certificates as the client wants them. Files are read again for every connection: they may have been
 * replaced, and the client's own words for one that is missing have its place in them.
 *
 * @throws {GatewayError} `io_error` when a file cannot be read; `invalid` for one that is not what it must be
 */
export async function connectionOptions(
  core: Packages["core"],
  { servers, identity, tls }: NatsSettings,
): Promise<NodeConnectionOptions> {
  return {
    servers: [...servers],
    ...(tls && { tls: await readTls(tls) }),
    ...(await identify(core, identity)),
  };
}

async function identify(
  core: Packages["core"],
  { credentials, nkey, token, user, password }: Identity,
): Promise<NodeConnectionOptions> {
  if (credentials !== undefined) {
    const data = await read(credentials, nameOf("credentials"));
    return { authenticator: proven(core.credsAuthenticator(data), nameOf("credentials")) };
  }
  if (nkey !== undefined) {
    const seed = (await read(nkey, nameOf("nkey"))).toString("utf8").trim();
    const authenticator = core.nkeyAuthenticator(new TextEncoder().encode(seed));
    return { authenticator: proven(authenticator, nameOf("nkey")) };
  }
  if (token !== undefined) return { token };
  return user === undefined ? {} : { user, pass: password! };
}

/** Tried once: what fails in the middle of a handshake is not told by the client. */
function proven(authenticator: Authenticator, what: string): Authenticator {
  try {
    authenticator("");
    return authenticator;
  } catch (cause) {
    throw new GatewayError("invalid", `The file of ${what} does not have the expected content.`, {
      hint: "Credentials come from nsc or nats auth, and a seed begins with SU.",
      cause,
    });
  }
}

async function readTls({ ca, cert, key }: TlsFiles): Promise<TlsOptions> {
  const files = {
    ...(ca !== undefined && { ca: await read(ca, "nats.tls.ca (NATS_CA)") }),
    ...(cert !== undefined && { cert: await read(cert, "nats.tls.cert (NATS_CERT)") }),
    ...(key !== undefined && { key: await read(key, "nats.tls.key (NATS_KEY)") }),
  };
  try {
    createSecureContext(files);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "no PEM";
    throw new GatewayError("invalid", `The certificates for NATS cannot be used (${code}).`, {
      hint: "nats.tls wants PEM files, and a key that belongs to its certificate.",
      cause,
    });
  }
  const texts = Object.entries(files).map(([name, data]) => [name, data.toString("utf8")]);
  return Object.fromEntries(texts) as TlsOptions;
}

async function read(file: string, what: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    throw new GatewayError("io_error", `The file of ${what} cannot be read (${code}).`, {
      hint: "Check that it is there and may be read.",
      cause,
    });
  }
}
