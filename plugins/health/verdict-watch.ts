import type { PluginContext } from "propylon";
import type { HealthReport } from "./service.ts";

type Status = HealthReport["status"];
type Verdicts = ReadonlyMap<string, Status>;

/** What is known now. What is not known at the moment is absent. */
export interface KnownVerdicts {
  readonly servers: Verdicts;
  readonly agents: Verdicts;
  /** Whether a server or an agent is there at all. */
  isThere(name: string): boolean;
}

/** Tells of verdicts that are others than before. What was told outlives a reload. */
export class VerdictWatch {
  readonly #emit: PluginContext["emit"];
  readonly #servers: Map<string, Status>;
  readonly #agents: Map<string, Status>;
  readonly #know: () => KnownVerdicts;
  #waiting: NodeJS.Immediate | undefined;

  constructor({ emit, keep }: Pick<PluginContext, "emit" | "keep">, know: () => KnownVerdicts) {
    this.#emit = emit;
    this.#know = know;
    this.#servers = keep("told-servers", () => new Map());
    this.#agents = keep("told-agents", () => new Map());
  }

  /** Compares when what was just found out is in its place; once for all that was. */
  soon(): void {
    this.#waiting ??= setImmediate(() => this.compare());
  }

  compare(): void {
    this.close();
    const { servers, agents, ...known } = this.#know();
    for (const told of [this.#servers, this.#agents])
      for (const name of told.keys()) if (!known.isThere(name)) told.delete(name);
    for (const [server, status, was] of differing(servers, this.#servers))
      this.#emit("health", { server, status, was });
    for (const [agent, status, was] of differing(agents, this.#agents))
      this.#emit("agent_state", { agent, status, was });
  }

  /** Nothing is compared any more. */
  close(): void {
    clearImmediate(this.#waiting);
    this.#waiting = undefined;
  }
}

/** What is other than what was told, which it is then. */
function* differing(
  now: Verdicts,
  told: Map<string, Status>,
): Iterable<readonly [name: string, status: Status, was: Status | null]> {
  for (const [name, status] of now) {
    const was = told.get(name) ?? null;
    if (was === status) continue;
    told.set(name, status);
    yield [name, status, was];
  }
}
