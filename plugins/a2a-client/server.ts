import { type Answer, GatewayError, type Call, type Catalogue, type PluginContext } from "propylon";
import { type ProbeReport, RefreshedServer } from "propylon/kit";
import type { RemoteCard } from "./card/card.ts";
import { CardReader } from "./card/cards.ts";
import type { AgentClient } from "./call/agent-client.ts";
import { ContractClient } from "./call/contract.ts";
import { SkillCall } from "./call/skill-call.ts";
import { SkillCalls } from "./call/skill-calls.ts";
import { AgentHttp } from "./card/http.ts";
import { isUpstreamError } from "./card/errors.ts";
import type { RemoteAgentOptions } from "./options.ts";
import type { IdOwners } from "./owners.ts";
import { probeAgent } from "./card/probe.ts";
import { StandardClient } from "./call/standard.ts";
import { skillCatalogue, skillTools, type SkillTool } from "./call/tool.ts";

/** How long agents are given to hear that their tasks are cancelled when the server ends, in milliseconds. */
const FAREWELL_MS = 2_000;

/** What an {@link RemoteAgent} is made of. */
export interface AgentServerOptions {
  readonly name: string;
  readonly options: RemoteAgentOptions;
  readonly log: PluginContext["log"];
  /** Lists to show until the card was read. */
  readonly catalogue: Catalogue | undefined;
  readonly owners: IdOwners;
}

/** An agent as one version of its card describes it. */
interface Agent {
  readonly card: RemoteCard;
  readonly tools: ReadonlyMap<string, SkillTool>;
  readonly catalogue: Catalogue;
  readonly client: AgentClient;
}

/** An A2A agent as a server: every skill of its card is a tool. */
export class RemoteAgent extends RefreshedServer<Agent> {
  readonly #settings: AgentServerOptions;
  readonly #http: AgentHttp;
  readonly #cards: CardReader;
  readonly #calls = new SkillCalls();

  constructor(settings: AgentServerOptions) {
    const { name, options, catalogue, log } = settings;
    const { refreshInterval: refresh, connectTimeout, maxResult } = options;
    const subject = "the agent card";
    super({
      name,
      transport: "a2a",
      log,
      subject,
      catalogue,
      refresh,
      timeout: connectTimeout,
    });
    this.#settings = settings;
    this.#http = new AgentHttp({ server: name, connectTimeout, maxResult });
    this.#cards = new CardReader(this.#http, options);
  }

  /** Asks for the card; a runtime of contract v1 whether it is healthy. */
  probe(signal: AbortSignal): Promise<ProbeReport> {
    return probeAgent({
      ...this.#settings,
      dialect: this.refresher.latest?.card.interface.dialect,
      http: this.#http,
      cards: this.#cards,
      signal,
    });
  }

  protected async call(call: Call, { skill }: SkillTool, { client }: Agent): Promise<Answer> {
    const { options, owners } = this.#settings;
    const { errors } = this.#http;
    const conversation = new SkillCall(call, { ...options, client, errors, owners, skill });
    try {
      return await this.#calls.run(conversation, call.signal);
    } catch (error) {
      // What a call found out, the status should say before the card is next read anyway.
      if (isUpstreamError(error) && this.status.state === "ready") void this.refresher.refresh();
      throw error;
    }
  }

  protected async read(signal: AbortSignal, before: Agent | undefined): Promise<Agent> {
    const card = await this.#cards.read(signal);
    // The same card makes the same tools: nothing is built.
    if (card === before?.card) return before;
    const client = await this.#open(card);
    const tools = skillTools(card.skills);
    const catalogue = skillCatalogue(card, tools);
    this.tracker.protocolVersion = card.interface.dialect;
    return { card, tools, catalogue, client };
  }

  protected override settle(graceMs: number): Promise<void> {
    return this.#calls.settled(graceMs);
  }

  protected override async dispose(): Promise<void> {
    this.#calls.abandon(new GatewayError("cancelled", `Server "${this.name}" was closed.`));
    await this.#calls.settled(FAREWELL_MS);
    await this.#http.destroy();
  }

  async #open(card: RemoteCard): Promise<AgentClient> {
    const { headers } = this.#settings.options;
    const http = this.#http;
    return card.interface.dialect === "contract-v1"
      ? new ContractClient({ card, http, headers })
      : StandardClient.open(card, http, headers);
  }
}
