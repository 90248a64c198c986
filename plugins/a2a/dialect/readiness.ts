import { GatewayError, type PluginContext } from "propylon";
import { setTimer } from "propylon/kit";
import { readDuration } from "propylon/process";
import { environment, type A2aOptions } from "../options.ts";

/** How long the contract gives a runtime to become ready, in milliseconds. */
const STARTUP_MS = 60_000;

/**
 * Whether the runtime is ready for its first task: every server that a skill calls has been connected. Once it
 * is, it stays so: a server that fails later fails tasks, and must not have the container killed by its liveness probe.
 */
export class Readiness {
  readonly #gateway: PluginContext<A2aOptions>;
  readonly #missing: Set<string>;

  constructor(gateway: PluginContext<A2aOptions>) {
    this.#gateway = gateway;
    this.#missing = new Set(
      gateway.config.skills.flatMap(({ tool }) => (tool ? [tool.server] : [])),
    );
    gateway.onStart(() => this.#watch());
  }

  /** @throws {GatewayError} `draining` (503) while it is not ready; that it shuts down is said by the listener */
  check(): void {
    const { missing } = this;
    if (missing.length > 0)
      throw new GatewayError("draining", "The runtime is not ready: its servers are connecting.", {
        headers: { "retry-after": "1" },
      });
  }

  /** Servers that were never connected. */
  get missing(): readonly string[] {
    for (const name of this.#missing) {
      const state = this.#gateway.info.servers.get(name)?.status.state;
      if (state === "ready" || state === "degraded") this.#missing.delete(name);
    }
    return [...this.#missing];
  }

  /** Says in the log when it takes longer than STARTUP_TIMEOUT; the sidecar gives the pod up then. */
  #watch(): () => void {
    const ms = readDuration(environment, "STARTUP_TIMEOUT") ?? STARTUP_MS;
    const timer = setTimer(() => {
      const { missing } = this;
      if (missing.length > 0)
        this.#gateway.log.error(
          { startupTimeoutMs: ms, servers: missing },
          "the runtime is not ready within STARTUP_TIMEOUT: servers of its skills are not connected",
        );
    }, ms).unref();
    return () => clearTimeout(timer);
  }
}
