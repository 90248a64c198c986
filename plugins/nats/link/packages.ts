import { createRequire } from "node:module";
import { importOptional } from "propylon/kit";

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
  const load = () => Promise.all([import("@nats-io/transport-node"), import("@nats-io/jetstream")]);
  const [core, jetstream] = await importOptional(load, "NATS needs its client.", PACKAGES);
  return { core, jetstream };
}
