import type { Logger } from "pino";
import { check } from "../config/check.ts";
import type { Config } from "../config/config.ts";
import { parseConfig } from "../config/parse.ts";
import { PluginSource } from "../config/resolve.ts";
import type { GatewayConfigInput } from "../config/schema.ts";
import { parseDuration } from "../config/units.ts";
import { GatewayError } from "../errors.ts";
import { Gateway } from "../gateway/gateway.ts";
import { createLogger } from "../log.ts";
import { endWhileStarting, runProcess } from "./run-process.ts";
import { exitCodeOf } from "./exit.ts";

/** How long a runtime that is our child gets from SIGTERM to SIGKILL, and what closing takes besides, in milliseconds. */
const STOP_MS = 5_000;
const CLOSE_MS = 1_000;

/**
 * Runs a sidecar as a process of its own: a gateway with nothing but the plugins sidecar, metrics and, where there is a
 * collector, telemetry. Returns once it listens.
 * It exits with 2 when the runtime does not become healthy in time, with 1 when it or a stream is not as it must be.
 *
 * @param command program and arguments of the runtime, to run it as a child
 * @throws {GatewayError} when a flag or variable is wrong, or the port cannot be had
 */
export async function sidecar(
  flags: SidecarFlags,
  command: readonly string[] | undefined,
): Promise<void> {
  const isStarted = endWhileStarting();
  const cwd = process.cwd();
  const plugins = new PluginSource(cwd);
  const config = configOf(flags, command);
  const checked = await check(config, (key) => plugins.resolve(key), cwd);
  const log = await createLogger(config.values.log);
  const gateway = await Gateway.start(checked, { cwd, log });
  // Before it listens: a manifest in a file can be wrong at once.
  exitOnFailure(gateway, log);
  try {
    await gateway.listen();
  } catch (error) {
    await gateway.close({ grace: 0 });
    throw error;
  }
  isStarted();
  runProcess(gateway, { log });
  const [address] = gateway.addresses.values();
  log.info({ url: address?.url }, "sidecar listens");
}

function configOf(flags: SidecarFlags, command: readonly string[] | undefined): Config {
  if (command?.length === 0)
    throw new GatewayError("invalid", "Nothing stands behind --.", {
      hint: "Write the command of the runtime, e.g. propylon sidecar -- node runtime.js.",
    });
  const { host, port, apiKey, logLevel } = flags;
  const grace = parseDuration(flags.grace ?? "30s", "s")!;
  const input = {
    name: "sidecar",
    listeners: { main: { host, port } },
    endpoints: {},
    ...(apiKey !== undefined && { auth: { apiKey } }),
    log: { format: "json", ...(logLevel !== undefined && { level: logLevel }) },
    timeouts: { grace: `${grace + (command ? STOP_MS : 0) + CLOSE_MS}ms` },
    plugins: {
      metrics: {},
      // Its collector is named by the environment, too.
      ...(process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] && { telemetry: {} }),
      sidecar: optionsOf(flags, grace, command),
    },
  };
  return parseConfig(input as GatewayConfigInput, "command line");
}

function optionsOf(
  flags: SidecarFlags,
  grace: number,
  command: readonly string[] | undefined,
): object {
  const { name, nats, natsCreds, runtime, runtimeKey, env, manifest, verify } = flags;
  const { concurrency, ackWait, maxDeliver, timeout, startupTimeout } = flags;
  return withoutUndefined({
    name,
    concurrency,
    ackWait,
    maxDeliver,
    timeout,
    grace: `${grace}ms`,
    nats: withoutUndefined({
      url: nats,
      credentials: natsCreds,
      provision: verify ? "verify" : undefined,
    }),
    runtime: withoutUndefined({
      url: runtime,
      headers: runtimeKey === undefined ? undefined : { authorization: `Bearer ${runtimeKey}` },
      env,
      manifest,
      startup: startupTimeout,
      command,
      stop: `${STOP_MS}ms`,
    }),
  });
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined));
}

/** A pod whose runtime never comes up must be seen to have failed. */
function exitOnFailure(gateway: Gateway, log: Logger): void {
  let isEnding = false;
  gateway.hook("sidecar:state", (state, reason, failure) => {
    if (state !== "failed" || isEnding) return;
    isEnding = true;
    const code = failure ? exitCodeOf(failure) : 1;
    log.fatal({ hint: failure?.hint }, reason ?? "the sidecar failed");
    const leave = (): void => {
      log.flush(() => process.exit(code));
    };
    gateway.drain();
    gateway.close({ grace: gateway.config.timeouts.grace }).then(leave, leave);
  });
}

/** Flags of `propylon sidecar`; the environment says the same. */
export interface SidecarFlags {
  readonly name?: string;
  readonly nats?: readonly string[];
  readonly natsCreds?: string;
  readonly runtime?: string;
  readonly runtimeKey?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly manifest?: string;
  readonly verify?: boolean;
  readonly concurrency?: number;
  readonly ackWait?: string;
  readonly maxDeliver?: number;
  readonly timeout?: string;
  readonly startupTimeout?: string;
  readonly grace?: string;
  readonly port: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly logLevel?: string;
}
