import { importOptional } from "propylon/kit";

/** What the face takes from `@a2a-js/sdk`: types with their codecs, the JSON-RPC handler, and the errors. */
export type Sdk = typeof import("@a2a-js/sdk") &
  typeof import("@a2a-js/sdk/server") &
  typeof import("@a2a-js/sdk/errors");

let opened: Promise<Sdk> | undefined;

/**
 * Imports `@a2a-js/sdk`, once.
 * @throws {GatewayError} `invalid` when it is not installed; names the command that installs it
 */
export function openSdk(): Promise<Sdk> {
  return (opened ??= importSdk());
}

async function importSdk(): Promise<Sdk> {
  const load = () =>
    Promise.all([
      import("@a2a-js/sdk"),
      import("@a2a-js/sdk/server"),
      import("@a2a-js/sdk/errors"),
    ]);
  const need = 'Speaking A2A 1.0 needs the package "@a2a-js/sdk".';
  const [types, server, errors] = await importOptional(load, need, ["@a2a-js/sdk"]);
  return { ...types, ...server, ...errors };
}
