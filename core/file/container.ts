import { isPlainObject } from "../kit/json.ts";
import { readDuration, readPort } from "../config/env.ts";

/**
 * A config with what the container around it says, where it says nothing itself: `TERMINATION_GRACE_PERIOD` for `timeouts.grace`,
 * and `A2A_PORT` for the port of a gateway that serves A2A and names no listener.
 *
 * @throws {GatewayError} `invalid` for a variable that cannot be read
 */
export function withContainer(
  value: Record<string, unknown>,
  environment: NodeJS.ProcessEnv = process.env,
): Record<string, unknown> {
  return withPort(withGrace(value, environment), environment);
}

function withGrace(
  value: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
): Record<string, unknown> {
  const { timeouts = {} } = value;
  if (!isPlainObject(timeouts) || timeouts["grace"] !== undefined) return value;
  const grace = readDuration(environment, "TERMINATION_GRACE_PERIOD");
  return grace === undefined ? value : { ...value, timeouts: { ...timeouts, grace: `${grace}ms` } };
}

/** The runtime's listener is the gateway's, where it is the only one: whatever its plugin says of it holds for both. */
function withPort(
  value: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
): Record<string, unknown> {
  const own = ownListener(value);
  if (value["listeners"] !== undefined || own === undefined) return value;
  const port = readPort(environment, "A2A_PORT");
  const main = withNumber({ ...(port !== undefined && { port }), ...own });
  return Object.keys(main).length === 0 ? value : { ...value, listeners: { main } };
}

/** A port that stands there as a variable is text still. */
function withNumber(listener: Record<string, unknown>): object {
  const { port } = listener;
  return typeof port === "string" && /^\d+$/.test(port)
    ? { ...listener, port: Number(port) }
    : listener;
}

/** What the option `listener` of the plugin says; `undefined` when there is no such plugin. */
function ownListener({ plugins }: Record<string, unknown>): Record<string, unknown> | undefined {
  if (!isPlainObject(plugins) || !Object.hasOwn(plugins, "a2a") || plugins["a2a"] === false)
    return undefined;
  const { listener = {} } = isPlainObject(plugins["a2a"]) ? plugins["a2a"] : {};
  return isPlainObject(listener) ? listener : {};
}
