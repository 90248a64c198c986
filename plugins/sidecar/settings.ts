import { resolve } from "node:path";
import { readDuration, readPort, readVariable, unreadableVariable } from "propylon/process";
import { natsOf, type NatsSettings } from "propylon/plugins/nats";
import type { SidecarOptions } from "./options.ts";

/** What the contract and NATS set by environment. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The options with the environment and defaults filled in. Times in milliseconds. */
export interface Settings extends Omit<SidecarOptions, "name" | "nats" | "runtime" | "grace"> {
  readonly name: string;
  readonly grace: number;
  /** `undefined` = the queue is kept in memory. */
  readonly nats: NatsSettings | undefined;
  readonly runtime: Omit<SidecarOptions["runtime"], "startup" | "url"> & {
    readonly startup: number;
    readonly url: string;
    /** Whether somebody said where it is; else the manifest's port counts. */
    readonly isPlaced: boolean;
  };
}

/**
 * Fills options in. What the config says wins over the environment.
 *
 * @param cwd where relative files start from
 * @throws {GatewayError} `invalid` for a variable that cannot be read
 */
export function settle(options: SidecarOptions, env: Environment, cwd: string): Settings {
  const { runtime } = options;
  const name = options.name ?? readVariable(env, "AGENT_NAME") ?? "agent";
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw unreadableVariable("AGENT_NAME", "1 to 64 letters, digits, - and _");
  const port = readPort(env, "A2A_PORT", 1);
  return {
    ...options,
    name,
    grace: options.grace ?? readDuration(env, "TERMINATION_GRACE_PERIOD") ?? 30_000,
    nats: natsOf(options.nats, env, cwd),
    runtime: {
      ...runtime,
      startup: runtime.startupTimeout ?? readDuration(env, "STARTUP_TIMEOUT") ?? 60_000,
      url: (runtime.url ?? `http://localhost:${port ?? 8080}`).replace(/\/+$/, ""),
      isPlaced: runtime.url !== undefined || port !== undefined,
      manifest: runtime.manifest && resolve(cwd, runtime.manifest),
    },
  };
}
