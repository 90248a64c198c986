import { importOptional } from "propylon/kit";

/** The parts of `@a2a-js/sdk` that speak to agents. */
export interface ClientSdk {
  readonly types: typeof import("@a2a-js/sdk");
  readonly client: typeof import("@a2a-js/sdk/client");
  readonly errors: typeof import("@a2a-js/sdk/errors");
  readonly former: typeof import("@a2a-js/sdk/compat/v0_3/client");
}

/**
 * Imports the optional package at first use: most gateways have no A2A agents, and contract v1 does without.
 * @throws {GatewayError} `invalid` when it is not installed; names the command that installs it
 */
export async function loadClientSdk(): Promise<ClientSdk> {
  const load = () =>
    Promise.all([
      import("@a2a-js/sdk"),
      import("@a2a-js/sdk/client"),
      import("@a2a-js/sdk/errors"),
      import("@a2a-js/sdk/compat/v0_3/client"),
    ]);
  const need = 'Agents that speak A2A need the package "@a2a-js/sdk".';
  const [types, client, errors, former] = await importOptional(load, need, ["@a2a-js/sdk"]);
  return { types, client, errors, former };
}
