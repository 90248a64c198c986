import { isPlainObject } from "../config/variables.ts";
import { parseDuration } from "../config/units.ts";
import { GatewayError } from "../errors.ts";

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
  const grace = variable(environment, "TERMINATION_GRACE_PERIOD");
  const { timeouts = {} } = value;
  if (grace === undefined || !isPlainObject(timeouts) || timeouts["grace"] !== undefined)
    return value;
  if (parseDuration(grace, "s") === undefined)
    throw unreadable("TERMINATION_GRACE_PERIOD", "a duration such as 30s or 500ms");
  return { ...value, timeouts: { ...timeouts, grace } };
}

/** The runtime's listener is the gateway's, where it is the only one: whatever its plugin says of it holds for both. */
function withPort(
  value: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
): Record<string, unknown> {
  const own = ownListener(value);
  if (value["listeners"] !== undefined || own === undefined) return value;
  const port = variable(environment, "A2A_PORT");
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) > 65_535))
    throw unreadable("A2A_PORT", "a port, from 0 to 65535");
  const main = withNumber({ ...(port !== undefined && { port: Number(port) }), ...own });
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

/** What is set to nothing is not set: that is how a manifest leaves a variable out. */
function variable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

function unreadable(name: string, wanted: string): GatewayError {
  return new GatewayError("invalid", `The variable ${name} must be ${wanted}.`, {
    hint: "Correct or unset it.",
  });
}
