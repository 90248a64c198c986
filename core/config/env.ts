import { parseDuration } from "../kit/units.ts";
import type { Environment } from "./variables.ts";
import { GatewayError } from "../kit/errors.ts";

/**
 * A variable of the environment. Set to nothing is not set: that is how a manifest leaves a variable out.
 *
 * @example const name = readVariable(process.env, "AGENT_NAME") ?? "agent";
 */
export function readVariable(environment: Environment, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

/**
 * A TCP port in the environment.
 *
 * @param least the smallest port that makes sense: 0 (any free one) for a listener, 1 for a client
 * @throws {GatewayError} `invalid` for anything else
 * @example const port = readPort(process.env, "A2A_PORT") ?? 8080;
 */
export function readPort(environment: Environment, name: string, least = 0): number | undefined {
  const text = readVariable(environment, name);
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= least && port <= 65_535) return port;
  throw unreadableVariable(name, `a port, from ${least} to 65535`);
}

/**
 * A duration in the environment, in milliseconds; a bare number there is seconds.
 *
 * @throws {GatewayError} `invalid` for an invalid duration
 * @example const grace = readDuration(process.env, "TERMINATION_GRACE_PERIOD") ?? 30_000;
 */
export function readDuration(environment: Environment, name: string): number | undefined {
  const text = readVariable(environment, name);
  const ms = text === undefined ? undefined : parseDuration(text, "s");
  if (text === undefined || ms !== undefined) return ms;
  throw unreadableVariable(name, "a duration such as 30s or 500ms");
}

/**
 * The error for a variable that cannot be read.
 *
 * @param wanted what it must be, e.g. `a port`
 * @example throw unreadableVariable("AGENT_NAME", "1 to 64 letters");
 */
export function unreadableVariable(name: string, wanted: string): GatewayError {
  return new GatewayError("invalid", `The variable ${name} must be ${wanted}.`, {
    hint: "Correct or unset it.",
  });
}
