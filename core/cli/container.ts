import { isPlainObject } from "../config/environment.ts";
import { parseDuration } from "../config/units.ts";
import { GatewayError } from "../errors.ts";

/**
 * A config with what the container around it says, where it says nothing itself: `TERMINATION_GRACE_PERIOD` for `timeouts.grace`
 * (R050), and `A2A_PORT` for the port of a gateway that serves A2A and names no listener (R012, R045, R047).
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

function withPort(
  value: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
): Record<string, unknown> {
  const { listeners, plugins } = value;
  const port = variable(environment, "A2A_PORT");
  if (port === undefined || listeners !== undefined || !servesA2a(plugins)) return value;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw unreadable("A2A_PORT", "a port, from 0 to 65535");
  return { ...value, listeners: { main: { port: Number(port) } } };
}

function servesA2a(plugins: unknown): boolean {
  return isPlainObject(plugins) && Object.hasOwn(plugins, "a2a") && plugins["a2a"] !== false;
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
