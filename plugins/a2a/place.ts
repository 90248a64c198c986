import { GatewayError, type PluginContext } from "propylon";
import { type ListenerInput, Listeners, perGeneration } from "propylon/kit";
import { readPort } from "propylon/process";
import { environment, type A2aOptions } from "./options.ts";

/** Name of the listener that the plugin brings. */
const OWN = "a2a";
/** Port of the container interface. */
const PORT = 8080;
const LOOPBACK = "127.0.0.1";

/** Where the runtime answers: which listener, which path, and what the outside calls it. */
export interface Place {
  /** For the `listener` of routes; `undefined` = the first. */
  readonly listener: string;
  /** Path that takes messages, `/` or without a slash at its end. */
  readonly path: string;
  /** Path below the runtime's own, e.g. `below("/message:send")`. */
  below(path: string): string;
  /** URL of {@link path}: of the config, never of a request. Ends with a slash only for `/`. */
  url(): string;
}

/**
 * Finds the listener, or brings one.
 *
 * @throws {GatewayError} `invalid` for an A2A_PORT that is not a port
 */
export function placeRuntime(gateway: PluginContext<A2aOptions>): Place {
  const { path } = gateway.config;
  const listener = findListener(gateway);
  const base = path === "/" ? "" : path;
  return {
    listener,
    path,
    below: (rest) => `${base}${rest}`,
    url: perGeneration(gateway, () => `${urlOf(gateway, listener)}${path}`),
  };
}

function findListener({
  config,
  info,
  add,
}: Pick<PluginContext<A2aOptions>, "config" | "info" | "add">): string {
  if (typeof config.listener === "string") return config.listener;
  const { host, port = readPort(environment, "A2A_PORT") ?? PORT } = config.listener;
  const { listeners = {} } = info.effectiveConfig() as {
    listeners?: Record<string, ListenerInput>;
  };
  const shared = Object.entries(listeners).find(
    ([name, settings]) => name !== OWN && port !== 0 && settings.port === port,
  );
  if (shared) return share(shared, host);
  add(Listeners, { name: OWN, host, port });
  return OWN;
}

/** @throws {GatewayError} `invalid` for an address that a listener with that port does not have: nobody would be reached there */
function share([name, { host, port }]: [string, ListenerInput], wanted: string): string {
  if (wanted === LOOPBACK || wanted === host) return name;
  throw new GatewayError(
    "invalid",
    `plugins.a2a.listener.host is ${wanted}, but the listener "${name}" has port ${port} on ${host}.`,
    { hint: `Set listeners.${name}.host and plugins.a2a.listener: ${name}, or another port.` },
  );
}

/** Without a slash at its end. */
function urlOf(
  { config, info }: Pick<PluginContext<A2aOptions>, "config" | "info">,
  listener: string,
): string {
  const { listeners } = info.describe();
  const { publicUrl } = info.effectiveConfig() as { publicUrl?: string };
  const found = listeners.find(({ name }) => name === listener);
  const isFirst = found !== undefined && found === listeners[0];
  const own = new URL(found?.url ?? `http://127.0.0.1:${PORT}`);
  if (publicUrl !== undefined) own.hostname = new URL(publicUrl).hostname;
  const url = config.url ?? (isFirst ? publicUrl : undefined) ?? own.href;
  return url.replace(/\/+$/, "");
}
