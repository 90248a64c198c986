import {
  Answer,
  EMPTY_CATALOGUE,
  GatewayError,
  MAX_DELAY_MS,
  toGatewayError,
  type Call,
  type Catalogue,
  type ManagedProvider,
  type PluginContext,
  type ProbeReport,
  type ProviderEvent,
  type ProviderStatus,
} from "propylon";
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
import { Standing } from "./standing.ts";
import { catalogueOf, toolsOf, type SkillTools } from "./tool.ts";

/** First and longest wait before a card that could not be had is asked for again, in milliseconds. */
const RETRY_MS = { first: 2_000, longest: 60_000 };
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
  readonly channel: Channel;
}

/** An A2A agent as a server: every skill of its card is a tool. */
export class AgentServer implements ManagedProvider {
  readonly name: string;
  readonly #settings: AgentServerOptions;
  readonly #exchange: Exchange;
  readonly #cards: CardReader;
  readonly #standing: Standing;
  readonly #conversations = new Conversations();
  readonly #stop = new AbortController();
  #catalogue: Catalogue;
  #agent: Agent | undefined;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: AgentServerOptions) {
    const { name, options, catalogue, log } = settings;
    const { connectTimeout, maxResult } = options;
    this.name = name;
    this.#settings = settings;
    this.#exchange = new Exchange({ server: name, connectTimeout, maxResult });
    this.#cards = new CardReader(this.#exchange, options);
    this.#catalogue = catalogue ?? EMPTY_CATALOGUE;
    this.#standing = new Standing(name, log);
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get status(): ProviderStatus {
    return this.#standing.status;
  }

  start(): void {
    this.#standing.become("connecting", 0, "the agent card is being read");
    void this.#read();
  }

  /** Reads the card again. */
  async reconnect(): Promise<void> {
    await this.#read();
  }

  /** Asks for the card; a runtime of contract v1 whether it is healthy (R013). */
  probe(signal: AbortSignal): Promise<ProbeReport> {
    return probeAgent({
      ...this.#settings,
      dialect: this.#agent?.card.interface.dialect,
      exchange: this.#exchange,
      cards: this.#cards,
      signal,
    });
  }

  async request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call")
      return Answer.error({ code: -32601, message: "An agent has tools only." });
    // A call that comes before the card waits for it, as it would for a server that is being dialled.
    if (!this.#agent) await this.#reading;
    const agent = this.#agent;
    if (!agent || this.#stop.signal.aborted) throw this.#unusable();
    const tool = agent.tools.get(call.name);
    if (!tool) return Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
    return this.#converse(call, agent, tool.skill);
  }

  async close(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    await this.#conversations.settled(graceMs);
    this.#stop.abort();
    this.#conversations.abandon(new GatewayError("cancelled", `Server "${this.name}" was closed.`));
    await this.#conversations.settled(FAREWELL_MS);
    await this.#reading;
    await this.#exchange.destroy();
    if (this.status.state !== "closed") this.#standing.become("closed", 0, "it was closed");
  }

  on(listener: (event: ProviderEvent) => void): () => void {
    return this.#standing.on(listener);
  }

  async #converse(call: Call, { channel }: Agent, skill: string): Promise<Answer> {
    const { options, owners } = this.#settings;
    const { faults } = this.#exchange;
    const conversation = new Conversation(call, { ...options, channel, faults, owners, skill });
    try {
      return await this.#conversations.run(conversation, call.signal);
    } catch (error) {
      // What a call found out, the status should say before the card is next read anyway.
      if (isBroken(error) && this.status.state === "ready") void this.#read();
      throw error;
    }
  }

  #unusable(): GatewayError {
    return new GatewayError(
      "upstream_error",
      `Server "${this.name}" cannot be used: ${this.status.reason ?? "it was closed"}`,
      { data: { server: this.name, state: this.status.state } },
    );
  }

  /** One reading at a time; who asks meanwhile gets that one. */
  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    clearTimeout(this.#timer);
    const { options } = this.#settings;
    const attempt = this.status.attempts + 1;
    try {
      const signal = AbortSignal.any([
        this.#stop.signal,
        AbortSignal.timeout(options.connectTimeout),
      ]);
      const card = await this.#cards.read(signal);
      // The same card makes the same tools: nothing is built, nobody is told (M106).
      if (card !== this.#agent?.card) await this.#use(card);
      if (this.#stop.signal.aborted) return;
      if (this.status.state !== "ready") this.#standing.become("ready", 0);
      this.#again(options.refresh);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#onFailure(error, attempt);
    }
  }

  async #use(card: RemoteCard): Promise<void> {
    const { headers, maxResult } = this.#settings.options;
    const { dialect } = card.interface;
    const exchange = this.#exchange;
    const channel =
      dialect === "contract-v1"
        ? new ContractChannel({ card, exchange, headers, maxResult })
        : await StandardChannel.open(card, exchange, headers);
    const tools = toolsOf(card.skills);
    const before = this.#catalogue.hash;
    this.#agent = { card, tools, channel };
    this.#standing.protocolVersion = dialect;
    this.#catalogue = catalogueOf(card, tools);
    if (before !== this.#catalogue.hash) this.#standing.emit({ type: "changed", lists: ["tools"] });
  }

  /** What cannot be reached is tried again soon; what is wrong in itself when the card is next read anyway. */
  #onFailure(thrown: unknown, attempt: number): void {
    const { options, log } = this.#settings;
    const error = this.#explain(thrown);
    const isNetwork = error.code === "upstream_error";
    if (error.code === "internal")
      log.error({ err: error.cause, server: this.name }, "the agent card could not be used");
    const wait = isNetwork
      ? Math.min(RETRY_MS.first * 2 ** (attempt - 1), RETRY_MS.longest)
      : options.refresh;
    const state = this.#agent ? "degraded" : isNetwork ? "backoff" : "failed";
    this.#standing.become(
      state,
      attempt,
      [error.message, error.hint].filter(Boolean).join(" "),
      wait,
    );
    this.#again(wait);
  }

  #explain(thrown: unknown): GatewayError {
    const isLate = thrown instanceof DOMException && thrown.name === "TimeoutError";
    return isLate
      ? this.#exchange.faults.protocol("did not send its card in time", thrown)
      : toGatewayError(thrown);
  }

  #again(ms: number): void {
    clearTimeout(this.#timer);
    if (ms > 0 && !this.#stop.signal.aborted)
      this.#timer = setTimeout(() => void this.#read(), Math.min(ms, MAX_DELAY_MS)).unref();
  }
}
