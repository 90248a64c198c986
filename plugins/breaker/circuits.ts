import { GatewayError, type PluginContext, type Server, type Service } from "propylon";
import type { Audit } from "propylon/kit";
import type { GatingService } from "propylon/plugins/gating";
import {
  Circuit,
  newMemory,
  breakerStatusOf,
  type CircuitHost,
  type CircuitMemory,
} from "./circuit.ts";
import type { BreakerOptions } from "./options.ts";
import type { BreakerService, BreakerStatus } from "./service.ts";

/** Who switches servers off; no principal, for a ref has a colon. */
const BY = "breaker";

type BreakerContext = PluginContext<BreakerOptions, { readonly audit: Service<Audit> }>;

/** The circuits of all servers that were called. */
export class Circuits implements BreakerService {
  readonly #gateway: BreakerContext;
  readonly #gating: GatingService | undefined;
  readonly #memories: Map<string, CircuitMemory>;
  readonly #circuits = new Map<string, Circuit>();
  readonly #host: CircuitHost;

  constructor(gateway: BreakerContext, gating: GatingService | undefined) {
    this.#gateway = gateway;
    this.#gating = gating;
    this.#memories = gateway.keep("circuits", () => new Map<string, CircuitMemory>());
    this.#host = {
      options: gateway.config,
      redial: (server) => redial(this.#find(server)),
      changed: (server, status, openings) => this.#changed(server, status, openings),
    };
  }

  /** What is known of every server with a circuit. */
  get memories(): ReadonlyMap<string, Readonly<CircuitMemory>> {
    return this.#memories;
  }

  /** The circuit of a server; `undefined` for a plugin's own tools, which have no transport that could fail. */
  of(server: string): Circuit | undefined {
    return this.#circuits.get(server) ?? this.#make(server);
  }

  statusOf(server: string): BreakerStatus {
    return breakerStatusOf(this.#memories.get(server) ?? newMemory());
  }

  reset(server: string): void {
    this.of(server)?.close();
  }

  /** Forgets servers that are gone, or are others under the same name. */
  forget(servers: readonly string[]): void {
    for (const server of servers) {
      this.#circuits.delete(server);
      this.#memories.delete(server);
    }
  }

  /** @throws {GatewayError} `not_found` */
  #find(server: string): Server {
    const found = this.#gateway.info.servers.get(server);
    if (!found) throw new GatewayError("not_found", `No server named "${server}".`);
    return found;
  }

  #make(server: string): Circuit | undefined {
    const found = this.#gateway.info.servers.get(server);
    if (!found || found.status.transport === "local") return undefined;
    const memory = this.#memories.get(server) ?? newMemory();
    const circuit = new Circuit(server, memory, this.#host);
    this.#memories.set(server, memory);
    this.#circuits.set(server, circuit);
    return circuit;
  }

  #changed(server: string, status: BreakerStatus, openings: number): void {
    const { log, config } = this.#gateway;
    const { state, failures, reason, retryAt } = status;
    log.warn({ server, state, failures, reason, retryAt }, `circuit is ${state}`);
    this.#gateway.emit("breaker:state", server, status);
    if (config.autoDisable && state === "open" && openings >= config.disableAfter)
      void this.#disable(server, openings);
  }

  /** Switches a server off for good, and says why wherever its state is shown. */
  async #disable(server: string, openings: number): Promise<void> {
    const memory = this.#memories.get(server);
    if (!memory || this.#gating?.isServerEnabled(server) !== true) return;
    const cause = memory.reason;
    memory.reason = `Switched off by the breaker after ${openings} openings in a row; ${cause}`;
    try {
      await this.#gating.set([{ server, enabled: false }], BY);
      const { reason } = memory;
      this.#gateway.log.warn({ server, openings, reason }, "server switched off by the breaker");
      this.#gateway.services.audit("disable", { server }, { openings });
      this.#gateway.emit("breaker:state", server, breakerStatusOf(memory));
    } catch (error) {
      if (cause !== undefined) memory.reason = cause;
      this.#gateway.log.error({ err: error, server }, "server could not be switched off");
    }
  }
}

/** @throws {GatewayError} `upstream_error` when the server does not come back */
async function redial(server: Server): Promise<void> {
  await server.reconnect?.();
  const { state } = server.status;
  if (state === "backoff" || state === "failed" || state === "closed")
    // The reason is for operators: it may quote what a child wrote before it died.
    throw new GatewayError("upstream_error", `Server "${server.name}" did not come back.`, {
      data: { server: server.name, state },
    });
}
