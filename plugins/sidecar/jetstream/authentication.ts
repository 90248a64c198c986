import { readFile } from "node:fs/promises";
import type { NodeConnectionOptions } from "@nats-io/transport-node";
import { GatewayError } from "propylon";
import type { NatsSettings } from "../settings.ts";
import type { Packages } from "./packages.ts";

/**
 * Servers and credentials as the client wants them.
 * @throws {GatewayError} `io_error` when the file of the credentials cannot be read
 */
export async function connectionOptions(
  core: Packages["core"],
  { servers, credentials, token, user, password, tls }: NatsSettings,
): Promise<NodeConnectionOptions> {
  return {
    servers: [...servers],
    ...(Object.keys(tls).length > 0 && { tls }),
    ...(token !== undefined && { token }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(credentials !== undefined && {
      authenticator: core.credsAuthenticator(await readCredentials(credentials)),
    }),
  };
}

async function readCredentials(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    throw new GatewayError("io_error", `The credentials for NATS cannot be read (${code}).`, {
      hint: "Check nats.credentials or NATS_CREDS.",
      cause,
    });
  }
}
