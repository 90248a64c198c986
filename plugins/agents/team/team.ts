import { GatewayError, type PluginContext } from "propylon";
import { perGeneration } from "propylon/kit";
import type { Agent } from "../agent/agent.ts";
import type { ChatMessage, Model, ModelPreflight } from "../model.ts";
import type { Offers } from "../agent/offers.ts";
import { createAtlas, type AgentPlace } from "./place.ts";
import type { AgentServer } from "../agent/server.ts";
import type { AgentInfo, AgentsService, OfferedTool, RunOptions, RunResult } from "../service.ts";

/** One agent with all that stands around it. */
export interface Member {
  readonly agent: Agent;
  readonly server: AgentServer;
  readonly place: AgentPlace;
  readonly model: Model | undefined;
  /** ISO 8601. */
  readonly updatedAt: string;
}

type UrlOf = ReturnType<typeof createAtlas>;

/** The agents of one config. */
export class Team implements AgentsService {
  readonly #environment: () => { readonly name: string; readonly urlOf: UrlOf };
  readonly #members: ReadonlyMap<string, Member>;
  readonly #offers: Offers;

  constructor(
    gateway: Pick<PluginContext, "info" | "hook">,
    members: ReadonlyMap<string, Member>,
    offers: Offers,
  ) {
    // Asked for with every message of an agent, and the description grows with the gateway.
    this.#environment = perGeneration(gateway, () => ({
      name: gateway.info.describe().name,
      urlOf: createAtlas(gateway),
    }));
    this.#members = members;
    this.#offers = offers;
  }

  list(): readonly AgentInfo[] {
    const { name, urlOf } = this.#environment();
    return [...this.#members.values()].map((member) => describeMember(member, name, urlOf));
  }

  get(name: string): AgentInfo | undefined {
    const member = this.#members.get(name);
    if (!member) return undefined;
    const environment = this.#environment();
    return describeMember(member, environment.name, environment.urlOf);
  }

  async run(
    name: string,
    messages: readonly ChatMessage[],
    options: RunOptions,
  ): Promise<RunResult> {
    return this.#find(name).agent.run(messages, options);
  }

  async preflight(name: string, signal: AbortSignal): Promise<ModelPreflight | undefined> {
    return this.#find(name).model?.preflight(signal);
  }

  offer(tool: OfferedTool): () => void {
    return this.#offers.add(tool);
  }

  #find(name: string): Member {
    const member = this.#members.get(name);
    if (member) return member;
    throw new GatewayError("not_found", `There is no agent "${name}".`, {
      hint: `There are: ${[...this.#members.keys()].join(", ") || "none"}.`,
    });
  }
}

function describeMember(
  { agent, place, model, updatedAt }: Member,
  gateway: string,
  urlOf: (place: AgentPlace) => string,
): AgentInfo {
  const { name, options, problem } = agent;
  const { id, title, description, version, icons, capabilities, registry, url } = options;
  return {
    name,
    id: id ?? `${gateway}-${name}`,
    title,
    description,
    version,
    icons,
    model: model?.id,
    capabilities,
    servers:
      options.server === undefined ? [...options.servers, ...options.agents] : [options.server],
    url: url ?? urlOf(place),
    problem,
    updatedAt,
    registry,
  };
}
