import type { Logger } from "pino";
import { Answer } from "../../call/answer.ts";
import type { Call } from "../../call/call.ts";
import { Refresher, type RefresherOptions } from "./refresher.ts";
import type { ManagedServer } from "../../call/server-type.ts";
import type { Catalogue, ServerEvent, ServerStatus } from "../../call/server.ts";
import { StatusTracker } from "../status.ts";

/**
 * What a {@link RefreshedServer} is made of.
 *
 * @example const made: RefreshedServerOptions = { name, transport: "card", log, subject: "the card", catalogue, refresh, timeout };
 */
export interface RefreshedServerOptions extends Omit<
  RefresherOptions<unknown>,
  "tracker" | "read"
> {
  readonly name: string;
  /** How it is reached; the server's type. */
  readonly transport: string;
  /** `gateway.log` of the plugin. */
  readonly log: Logger;
}

/** What was read: the lists to show, and the tool of the server behind each name. */
interface Described {
  readonly catalogue: Catalogue;
  /** By name, as the catalogue has it. */
  readonly tools: ReadonlyMap<string, unknown>;
}

type ToolOf<D extends Described> = D["tools"] extends ReadonlyMap<string, infer T> ? T : never;

/**
 * A server whose tools come from something that is read again and again: a document, a card, a manifest. Status, lists, calls that
 * wait for the first reading, and the end are the same for all of them; a subclass reads and calls.
 *
 * @typeParam D what is made of what was read
 * @example
 * class CardServer extends RefreshedServer<Card> {
 *   protected read(signal: AbortSignal) { return readCard(this.#url, signal); }
 *   protected call(call: Call, skill: Skill) { return send(skill, call); }
 * }
 */
export abstract class RefreshedServer<D extends Described> implements ManagedServer {
  readonly name: string;
  protected readonly tracker: StatusTracker;
  protected readonly refresher: Refresher<D>;

  constructor({ name, transport, log, ...reading }: RefreshedServerOptions) {
    this.name = name;
    this.tracker = new StatusTracker({ server: name, transport, log });
    this.refresher = new Refresher<D>({
      ...reading,
      tracker: this.tracker,
      read: (signal, before) => this.read(signal, before),
    });
  }

  get catalogue(): Catalogue {
    return this.refresher.catalogue;
  }

  get status(): ServerStatus {
    return this.tracker.status;
  }

  /** Reads for the first time; returns at once. */
  start(): void {
    this.refresher.start();
  }

  /** Reads again. */
  reconnect(): Promise<void> {
    return this.refresher.refresh();
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.tracker.on(listener);
  }

  /** Calls a tool of what was read last. */
  async request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call")
      return Answer.error({ code: -32601, message: "This server has tools only." });
    return this.refresher.use(async (latest) => {
      const tool = latest.tools.get(call.name) as ToolOf<D> | undefined;
      if (tool === undefined)
        return Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
      return this.call(call, tool, latest);
    });
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([this.refresher.close(graceMs), this.settle?.(graceMs)]);
    await this.dispose?.();
    this.tracker.set("closed", { reason: "it was closed" });
  }

  /** As `read` of {@link RefresherOptions}. */
  protected abstract read(signal: AbortSignal, before: D | undefined): Promise<D>;

  /** Answers a call; what it throws is what `request` of a server may reject with. */
  protected abstract call(call: Call, tool: ToolOf<D>, latest: D): Promise<Answer>;

  /** Waits for what goes on behind the calls, at most so many milliseconds. */
  protected settle?(graceMs: number): Promise<void>;

  /** Closes what is open, once the calls have ended. */
  protected dispose?(): Promise<void>;
}
