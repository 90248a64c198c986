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
import type { Channel } from "./channel.ts";
import { ContractChannel } from "./contract.ts";
import { Conversation } from "./conversation.ts";
import { Conversations } from "./conversations.ts";
import { Exchange } from "./exchange.ts";
import { isBroken } from "./faults.ts";
import type { AgentOptions } from "./options.ts";
import type { Owners } from "./owners.ts";
import { probeAgent } from "./probe.ts";
import { StandardChannel } from "./standard.ts";
import { catalogueOf, toolsOf, type SkillTools } from "./tool.ts";

/** How long agents are given to hear that their tasks are cancelled when the server ends, in milliseconds. */
const FAREWELL_MS = 2_000;

/** What an {@link AgentServer} is made of. */
export interface AgentServerOptions {
  readonly name: string;
  readonly options: AgentOptions;
  readonly log: PluginContext["log"];
  /** Lists to show until the card was read. */
  readonly catalogue: Catalogue | undefined;
  readonly owners: Owners;
}

/** An agent as one version of its card describes it. */
interface Agent {
  readonly card: RemoteCard;
  readonly tools: SkillTools;
  readonly catalogue: Catalogue;
  readonly channel: Channel;
}

/** An A2A agent as a server: every skill of its card is a tool. */
export class AgentServer implements ManagedServer {
  readonly name: string;
  readonly #settings: AgentServerOptions;
  readonly #exchange: Exchange;
  readonly #cards: CardReader;
  readonly #tracker: StatusTracker;
  readonly #refresher: Refresher<Agent>;
  readonly #conversations = new Conversations();

  constructor(settings: AgentServerOptions) {
    const { name, options, catalogue, log } = settings;
    const { refreshInterval, connectTimeout, maxResult } = options;
    this.name = name;
    this.#settings = settings;
    this.#exchange = new Exchange({ server: name, connectTimeout, maxResult });
    this.#cards = new CardReader(this.#exchange, options);
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
      exchange: this.#exchange,
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
    await Promise.all([this.#refresher.close(graceMs), this.#conversations.settled(graceMs)]);
    this.#conversations.abandon(new GatewayError("cancelled", `Server "${this.name}" was closed.`));
    await this.#conversations.settled(FAREWELL_MS);
    await this.#exchange.destroy();
    this.#tracker.set("closed", { reason: "it was closed" });
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  async #converse(call: Call, { channel }: Agent, skill: string): Promise<Answer> {
    const { options, owners } = this.#settings;
    const { faults } = this.#exchange;
    const conversation = new Conversation(call, { ...options, channel, faults, owners, skill });
    try {
      return await this.#conversations.run(conversation, call.signal);
    } catch (error) {
      // What a call found out, the status should say before the card is next read anyway.
      if (isBroken(error) && this.status.state === "ready") void this.#refresher.refresh();
      throw error;
    }
  }

  async #read(signal: AbortSignal, before: Agent | undefined): Promise<Agent> {
    const card = await this.#cards.read(signal);
    // The same card makes the same tools: nothing is built.
    if (card === before?.card) return before;
    const channel = await this.#open(card);
    const tools = toolsOf(card.skills);
    const catalogue = catalogueOf(card, tools);
    this.#tracker.protocolVersion = card.interface.dialect;
    return { card, tools, catalogue, channel };
  }

  async #open(card: RemoteCard): Promise<Channel> {
    const { headers, maxResult } = this.#settings.options;
    const exchange = this.#exchange;
    return card.interface.dialect === "contract-v1"
      ? new ContractChannel({ card, exchange, headers, maxResult })
      : StandardChannel.open(card, exchange, headers);
  }
}
