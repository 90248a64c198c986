import { GatewayError, toGatewayError, type PluginContext, type Server } from "propylon";
import { type ProbeRung, setTimer } from "propylon/kit";
import { FactChecks, type KnownFact } from "propylon/internal";
import type { GatingService } from "propylon/plugins/gating";
import type { HealthOptions } from "./options.ts";
import type { ServerHealth } from "./service.ts";
import { describeSlowness } from "./words.ts";

/** Probes of one server whose average counts. */
const SAMPLES = 5;

/** What {@link ServerChecks} works with. */
export interface ServerChecksOptions {
  readonly gateway: Pick<PluginContext<HealthOptions>, "info" | "config" | "log" | "keep">;
  readonly gating: GatingService | undefined;
  /** A probe ended after so many milliseconds. */
  probed(server: string, duration: number): void;
  /** A server left. */
  forgotten(server: string): void;
}

/** How the servers of the gateway are, by probing them. */
export class ServerChecks {
  readonly checks: FactChecks<ServerHealth>;
  readonly #options: ServerChecksOptions;
  /** Round trips of the last probes that were answered, in milliseconds. */
  readonly #latencies: Map<string, readonly number[]>;

  constructor(options: ServerChecksOptions) {
    const { keep, config } = options.gateway;
    this.#options = options;
    this.#latencies = keep("latencies", () => new Map());
    this.checks = new FactChecks({
      interval: config.interval,
      lasts: 4 * config.interval + config.timeout,
      known: keep("servers", () => new Map<string, KnownFact<ServerHealth>>()),
      ask: (server, signal) => this.#ask(server, signal),
    });
  }

  /** Names of the servers to probe: those that can be asked and are switched on. */
  get probed(): string[] {
    return [...this.#options.gateway.info.servers.values()]
      .filter((server) => server.probe !== undefined && this.isEnabled(server.name))
      .map(({ name }) => name);
  }

  /** Whether a server is switched on. */
  isEnabled(server: string): boolean {
    return this.#options.gating?.isServerEnabled(server) ?? true;
  }

  /** What is known of a server; one that cannot be probed is what its status says. */
  of(server: string): ServerHealth | undefined {
    const found = this.#options.gateway.info.servers.get(server);
    if (found === undefined || found.probe) return this.checks.latest(server);
    return fromStatus(found);
  }

  /** Its state changed: what is known of it may be wrong now. */
  hear(server: string, { state }: Server["status"]): void {
    const known = this.checks.latest(server);
    if (known === undefined || state === "idle" || state === "connecting" || state === "closed")
      return;
    const isConnected = state === "ready" || state === "degraded";
    const isInPart = state === "degraded";
    if (isConnected !== known.reachable || isInPart !== (known.failed === "list"))
      if (this.isEnabled(server)) this.checks.renew(server);
  }

  /** The server left, or is a different one now. */
  forget(server: string): void {
    this.checks.forget(server);
    this.#latencies.delete(server);
    this.#options.forgotten(server);
  }

  async #ask(server: string, dispose: AbortSignal): Promise<ServerHealth | undefined> {
    const found = this.#options.gateway.info.servers.get(server);
    if (!found?.probe) return undefined;
    const { log } = this.#options.gateway;
    const before = this.checks.latest(server);
    const begun = performance.now();
    const health = await this.#probe(found, dispose);
    if (dispose.aborted) return undefined;
    this.#options.probed(server, performance.now() - begun);
    if (health.reachable !== before?.reachable && (before || !health.reachable))
      log[health.reachable ? "info" : "warn"](
        { server, reachable: health.reachable, failed: health.failed, reason: health.reason },
        health.reachable ? "server answers its probes again" : "server does not answer its probe",
      );
    return health;
  }

  async #probe(server: Server, dispose: AbortSignal): Promise<ServerHealth> {
    const { name } = server;
    const { timeout } = this.#options.gateway.config;
    const limit = new AbortController();
    const end = (): void => limit.abort(dispose.reason);
    const timer = setTimer(() => limit.abort(lateError(name, timeout)), timeout);
    dispose.addEventListener("abort", end, { once: true });
    try {
      const { latency } = await server.probe!(limit.signal);
      return this.#judge(name, latency);
    } catch (thrown) {
      return fromFailure(name, toGatewayError(thrown));
    } finally {
      clearTimeout(timer);
      dispose.removeEventListener("abort", end);
    }
  }

  #judge(server: string, latency: number): ServerHealth {
    const latencies = [...(this.#latencies.get(server) ?? []), latency].slice(-SAMPLES);
    this.#latencies.set(server, latencies);
    const average = latencies.reduce((sum, each) => sum + each, 0) / latencies.length;
    const isSlow = average > this.#options.gateway.config.slow;
    return {
      server,
      reachable: true,
      ...(isSlow && { failed: "slow" as const, reason: describeSlowness(server, average) }),
      latency: Math.round(latency),
      checkedAt: new Date().toISOString(),
    };
  }
}

function lateError(server: string, timeout: number): GatewayError {
  return new GatewayError(
    "timeout",
    `Server "${server}" did not answer within ${timeout / 1000} s.`,
  );
}

function fromFailure(server: string, { message, data }: GatewayError): ServerHealth {
  const failed = (data?.["failed"] ?? "transport") as ProbeRung;
  return {
    server,
    reachable: failed === "list",
    reason: message,
    failed,
    checkedAt: new Date().toISOString(),
  };
}

function fromStatus({ name, status: { state } }: Server): ServerHealth {
  const reachable = state === "ready" || state === "degraded" || state === "idle";
  return {
    server: name,
    reachable,
    ...(!reachable && {
      failed: "transport" as const,
      reason: `Server "${name}" is not available (${state}).`,
    }),
    checkedAt: new Date().toISOString(),
  };
}
