import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { GatewayError } from "propylon";
import type { HttpServerConfig } from "./entry.ts";

const PARTS = ["ca", "cert", "key"] as const;

/**
 * What a connection to a server is secured with; `undefined` where the entry says nothing. Read for each connection to be opened, so
 * that a renewed certificate counts from the next one on.
 *
 * @param cwd folder that relative paths start from
 * @throws {GatewayError} `invalid` with the option and the path
 */
export function readSecureContext(
  name: string,
  { tls }: Pick<HttpServerConfig, "tls">,
  cwd: string,
): SecureContext | undefined {
  if (!tls) return undefined;
  const read = PARTS.flatMap((part) => {
    const path = tls[part];
    return path === undefined ? [] : [[part, readPart(name, part, resolve(cwd, path))] as const];
  });
  try {
    return createSecureContext(Object.fromEntries(read));
  } catch (cause) {
    const paths = PARTS.flatMap((part) => tls[part] ?? []).join(", ");
    throw unusable(
      `servers.${name}.tls names files that are not a certificate and its key: ${paths}.`,
      cause,
    );
  }
}

function readPart(name: string, part: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw unusable(`servers.${name}.tls.${part} cannot be read: ${path}.`, cause);
  }
}

function unusable(message: string, cause: unknown): GatewayError {
  return new GatewayError("invalid", message, {
    cause,
    hint: "Name files in PEM that the gateway may read.",
  });
}
