import { GatewayError, type Json } from "propylon";
import { parseDuration } from "propylon/kit";
import { exitCodeOf, runGateway, type Running } from "propylon/cli";

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
  const { gateway, log } = await runGateway(configOf(flags, command), exitOnFailure);
  const [address] = gateway.addresses.values();
  log.info({ url: address?.url }, "sidecar listens");
}

function configOf(flags: SidecarFlags, command: readonly string[] | undefined): Json {
  if (command?.length === 0)
    throw new GatewayError("invalid", "No command follows --.", {
      hint: "Write the command of the runtime, e.g. propylon sidecar -- node runtime.js.",
    });
  const { host, port, apiKey, logLevel } = flags;
  const grace = parseDuration(flags.grace ?? "30s", "s")!;
  return {
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
      env: env && Object.fromEntries(env),
      manifest,
      startupTimeout,
      command,
      stopTimeout: `${STOP_MS}ms`,
    }),
  });
}

function withoutUndefined(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined));
}

/** A pod whose runtime never comes up must be seen to have failed; a manifest in a file can be wrong before anything listens. */
function exitOnFailure({ gateway, log }: Running): void {
  let isEnding = false;
  gateway.hook("sidecar:state", (state, reason, failure) => {
    if (state !== "failed" || isEnding) return;
    isEnding = true;
    const code = failure ? exitCodeOf(failure) : 1;
    log.fatal({ hint: failure?.hint }, reason ?? "the sidecar failed");
    // The log is written when the process exits; to wait for it would be to wait for who reads it.
    const leave = (): void => process.exit(code);
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
  /** Names and values. */
  readonly env?: readonly (readonly [string, string])[];
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
