import {
  Answer,
  GatewayError,
  Refresher,
  StatusTracker,
  type Call,
  type Catalogue,
  type ManagedServer,
  type PluginContext,
  type ServerEvent,
  type ServerStatus,
} from "propylon";
import type { ProbeReport } from "propylon/kit";
import type { RemoteCard } from "./card.ts";
import { CardReader } from "./cards.ts";
import type { AgentClient } from "./agent-client.ts";
import { ContractClient } from "./contract.ts";
import { SkillCall } from "./skill-call.ts";
import { SkillCalls } from "./skill-calls.ts";
import { AgentHttp } from "./http.ts";
import { isUpstreamError } from "./errors.ts";
import type { RemoteAgentOptions } from "./options.ts";
import type { IdOwners } from "./owners.ts";
import { probeAgent } from "./probe.ts";
import { StandardClient } from "./standard.ts";
import { catalogueOf, skillTools, type SkillTools } from "./tool.ts";

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
  readonly tools: SkillTools;
  readonly catalogue: Catalogue;
  readonly client: AgentClient;
}

/** An A2A agent as a server: every skill of its card is a tool. */
export class RemoteAgent implements ManagedServer {
  readonly name: string;
  readonly #settings: AgentServerOptions;
  readonly #http: AgentHttp;
  readonly #cards: CardReader;
  readonly #tracker: StatusTracker;
  readonly #refresher: Refresher<Agent>;
  readonly #calls = new SkillCalls();

  constructor(settings: AgentServerOptions) {
    const { name, options, catalogue, log } = settings;
    const { refreshInterval, connectTimeout, maxResult } = options;
    this.name = name;
    this.#settings = settings;
    this.#http = new AgentHttp({ server: name, connectTimeout, maxResult });
    this.#cards = new CardReader(this.#http, options);
    this.#tracker = new StatusTracker({ server: name, transport: "a2a", log });
    this.#refresher = new Refresher({
      tracker: this.#tracker,
      subject: "the agent card",
      catalogue,
      refresh: refreshInterval,
      timeout: connectTimeout,
      read: (signal, before) => this.#read(signal, before),
    });
  }

  get catalogue(): Catalogue {
    return this.#refresher.catalogue;
  }

  get status(): ServerStatus {
    return this.#tracker.status;
  }

  start(): void {
    this.#refresher.start();
  }

  /** Reads the card again. */
  async reconnect(): Promise<void> {
    await this.#refresher.refresh();
  }

  /** Asks for the card; a runtime of contract v1 whether it is healthy. */
  probe(signal: AbortSignal): Promise<ProbeReport> {
    return probeAgent({
      ...this.#settings,
      dialect: this.#refresher.latest?.card.interface.dialect,
      http: this.#http,
      cards: this.#cards,
      signal,
    });
  }

  async request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call")
      return Answer.error({ code: -32601, message: "An agent has tools only." });
    return this.#refresher.use(async (agent) => {
      const tool = agent.tools.get(call.name);
      if (!tool) return Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
      return this.#converse(call, agent, tool.skill);
    });
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([this.#refresher.close(graceMs), this.#calls.settled(graceMs)]);
    this.#calls.abandon(new GatewayError("cancelled", `Server "${this.name}" was closed.`));
    await this.#calls.settled(FAREWELL_MS);
    await this.#http.destroy();
    this.#tracker.set("closed", { reason: "it was closed" });
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  async #converse(call: Call, { client }: Agent, skill: string): Promise<Answer> {
    const { options, owners } = this.#settings;
    const { errors } = this.#http;
    const conversation = new SkillCall(call, { ...options, client, errors, owners, skill });
    try {
      return await this.#calls.run(conversation, call.signal);
    } catch (error) {
      // What a call found out, the status should say before the card is next read anyway.
      if (isUpstreamError(error) && this.status.state === "ready") void this.#refresher.refresh();
      throw error;
    }
  }

  async #read(signal: AbortSignal, before: Agent | undefined): Promise<Agent> {
    const card = await this.#cards.read(signal);
    // The same card makes the same tools: nothing is built.
    if (card === before?.card) return before;
    const client = await this.#open(card);
    const tools = skillTools(card.skills);
    const catalogue = catalogueOf(card, tools);
    this.#tracker.protocolVersion = card.interface.dialect;
    return { card, tools, catalogue, client };
  }

  async #open(card: RemoteCard): Promise<AgentClient> {
    const { headers, maxResult } = this.#settings.options;
    const http = this.#http;
    return card.interface.dialect === "contract-v1"
      ? new ContractClient({ card, http, headers, maxResult })
      : StandardClient.open(card, http, headers);
  }
}
