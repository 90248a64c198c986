import { createRequire } from "node:module";
import { GatewayError } from "propylon";

/** The NATS client. */
export interface Packages {
  readonly core: typeof import("@nats-io/transport-node");
  readonly jetstream: typeof import("@nats-io/jetstream");
}

/** What `Packages` are installed as. */
export const PACKAGES = ["@nats-io/transport-node", "@nats-io/jetstream"];

/** Those of them that are here: where a queue is only known when the gateway runs, a build holds what there is. */
export function installedPackages(): readonly string[] {
  const { resolve } = createRequire(import.meta.url);
  return PACKAGES.filter((name) => {
    try {
      return resolve(name) !== "";
    } catch {
      return false;
    }
  });
}

/**
 * Imports the client at first use: what is kept in memory needs none.
 * @throws {GatewayError} `invalid` when it is not installed
 */
export async function loadPackages(): Promise<Packages> {
  try {
    const [core, jetstream] = await Promise.all([
      import("@nats-io/transport-node"),
      import("@nats-io/jetstream"),
    ]);
    return { core, jetstream };
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new GatewayError("invalid", "NATS needs its client.", {
      hint: `Run: npm install ${PACKAGES.join(" ")}`,
      cause,
    });
  }
}
