import type { PluginContext } from "propylon";
import { setTimer } from "propylon/kit";
import { FactChecks, type KnownFact } from "propylon/internal";
import type { AgentsService, ModelPreflight } from "propylon/plugins/agents";
import type { HealthOptions } from "./options.ts";

/** What the provider of an agent's model said without being asked to think. */
export interface ModelHealth extends ModelPreflight {
  readonly agent: string;
  /** ISO 8601. */
  readonly checkedAt: string;
}

/** How the models of the agents are, without spending a token. */
export class ModelChecks {
  readonly checks: FactChecks<ModelHealth>;
  readonly #agents: AgentsService | undefined;
  readonly #timeout: number;

  constructor(
    { keep, config }: Pick<PluginContext<HealthOptions>, "keep" | "config">,
    agents: AgentsService | undefined,
  ) {
    this.#agents = agents;
    this.#timeout = config.timeout;
    this.checks = new FactChecks({
      interval: config.preflightInterval,
      lasts: 4 * config.preflightInterval + config.timeout,
      known: keep("models", () => new Map<string, KnownFact<ModelHealth>>()),
      ask: (agent, signal) => this.#ask(agent, signal),
    });
  }

  /** Agents that are driven by a model. */
  get agents(): string[] {
    return (this.#agents?.list() ?? [])
      .filter(({ model }) => model !== undefined)
      .map(({ name }) => name);
  }

  async #ask(agent: string, dispose: AbortSignal): Promise<ModelHealth | undefined> {
    const limit = new AbortController();
    const end = (): void => limit.abort();
    const timer = setTimer(end, this.#timeout);
    dispose.addEventListener("abort", end, { once: true });
    const checkedAt = new Date().toISOString();
    try {
      const said = await this.#agents?.preflight(agent, limit.signal);
      return said && { agent, checkedAt, ...(limit.signal.aborted ? this.#late(agent) : said) };
    } catch {
      // It was asked for too long, or the agent left while it was.
      return this.#agents?.get(agent) && { agent, checkedAt, ...this.#late(agent) };
    } finally {
      clearTimeout(timer);
      dispose.removeEventListener("abort", end);
    }
  }

  #late(agent: string): ModelPreflight {
    const [provider = "", ...model] = (this.#agents?.get(agent)?.model ?? "").split("/");
    const message = `The provider "${provider}" did not answer within ${this.#timeout / 1000} s.`;
    return { provider, model: model.join("/"), status: "error", message };
  }
}
