import type { Config } from "../config/config.ts";
import { endpointSchema, listenerSchema } from "../config/schema.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import type { Scope } from "./scope.ts";

/**
 * The config with the listeners and endpoints that plugins brought. They are opened, kept and closed like the config's own.
 *
 * @throws {GatewayError} `exists` for a name that is taken, naming both sides; `invalid` for settings that cannot be used
 */
export function extendConfig(config: Config, scopes: readonly Scope[]): Config {
  const owners = new Map<string, string>();
  const added = <T>(
    kind: "listener" | "endpoint",
    known: Readonly<Record<string, T>>,
    read: (settings: unknown) => T,
  ): Record<string, T> => {
    const all = { ...known };
    for (const scope of scopes) {
      for (const { name, settings } of scope[`${kind}s`]) {
        if (Object.hasOwn(all, name))
          throw new GatewayError(
            "exists",
            `Plugin "${scope.name}" brings the ${kind} "${name}", which ${owners.get(`${kind} ${name}`) ?? "the config"} has already.`,
          );
        owners.set(`${kind} ${name}`, `plugin "${scope.name}"`);
        all[name] = attempt(scope.name, `${kind} "${name}"`, () => read(settings));
      }
    }
    return all;
  };
  if (scopes.every(({ listeners, endpoints }) => listeners.length + endpoints.length === 0))
    return config;
  const { listeners, endpoints } = config.values;
  return config.with({
    listeners: added("listener", listeners, (settings) => listenerSchema.parse(settings)),
    endpoints: added("endpoint", endpoints, (settings) => endpointSchema.parse(settings)),
  });
}

function attempt<T>(plugin: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new GatewayError(
      "invalid",
      `Plugin "${plugin}" brings the ${what} with settings that cannot be used.`,
      { cause: toGatewayError(cause) },
    );
  }
}
