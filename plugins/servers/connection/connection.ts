import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { type Answer, type Call, GatewayError, type Json } from "propylon";
import { type ServerEvent, setTimer, writeJson } from "propylon/kit";
import { abortableOf, abortError, declaresTasks } from "propylon/internal";
import type { Dropped } from "../wire/dropped.ts";
import {
  type ClientInfo,
  encodeCall,
  encodeOwn,
  mirrorArguments,
  type Mirrors,
  needsTask,
} from "../wire/envelope.ts";
import { Exchange, type ExchangeOwner, Oversize, Pending } from "../wire/exchange.ts";
import { Inbound } from "./inbound.ts";
import { nextId } from "../wire/message.ts";
import { askForSession, suspectLoss } from "../wire/session-loss.ts";
import {
  type Dialect,
  type Handshake,
  makesTasks,
  type Wire,
  type WireReceiver,
} from "../wire/wire.ts";

/** Least time between two looks, in milliseconds: there are servers that end their stream every second. */
const APART_MS = 10_000;

/** Has a look at what a server may have said in vain, after each gap in its event stream. Gaps that follow soon share a look. */
class Gaps {
  readonly #look: () => void;
  #lookedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(look: () => void) {
    this.#look = look;
  }

  /** There was one. */
  note(): void {
    const wait = this.#lookedAt + APART_MS - performance.now();
    if (wait <= 0) this.#begin();
    else this.#timer ??= setTimer(() => this.#begin(), wait).unref();
  }

  /** Looks no more. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #begin(): void {
    this.#timer = undefined;
    this.#lookedAt = performance.now();
    this.#look();
  }
}

/** What a {@link Connection} reports to. */
export interface ConnectionHost {
  /**
   * It takes no more calls. Calls that run on streams of their own may still finish on it.
   * @param resend a call that certainly did not run; the owner of the upstream sends it again or fails it
   */
  lost(connection: Connection, error: GatewayError, resend: Exchange | undefined): void;
  /** The server says that one of its lists changed. */
  listChanged(list: "tools" | "resources" | "prompts"): void;
  event(event: ServerEvent): void;
  /** Its event stream is open again, and it may have said something meanwhile. */
  missed(connection: Connection): void;
}

/** Limits of a request that the gateway makes for itself. */
export interface RequestOptions {
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** On whose behalf it is made: the server is told of its caller what calls tell. */
  readonly call?: Call | undefined;
  /** Value of `Mcp-Name`. */
  readonly name?: string | undefined;
}

/** How long a server may take to answer a ping, in milliseconds. */
const PING_MS = 10_000;

/** What a {@link Connection} is made of. */
export interface ConnectionOptions {
  /** Name of the server. */
  readonly name: string;
  readonly clientInfo: ClientInfo;
  readonly log: Logger;
  readonly host: ConnectionHost;
  /** Counts what the server sends in vain. */
  readonly dropped: Dropped;
  /** Deepest accepted nesting of what the server sends. */
  readonly maxDepth: number;
}

/** One conversation with a server in one dialect: ids, requests in flight, and what comes back. */
export class Connection implements ExchangeOwner {
  readonly name: string;
  readonly receiver: WireReceiver;
  /** Set once negotiated. */
  handshake: Handshake | undefined;
  /** Whether the server may answer calls of tools with tasks (SEP-2663). */
  takesTasks = false;
  /** Whether it makes tasks of calls that ask for it (2025-11-25). */
  makesTasks = false;
  /** Which arguments go into headers, by tool (modern Streamable HTTP). */
  mirrors: Mirrors = new Map();
  readonly clientInfo: ClientInfo;
  /** Messages that came, of any kind. */
  heard = 0;
  readonly #host: ConnectionHost;
  readonly #pending = new Pending<Exchange>();
  readonly #oversize = new Oversize(this.#pending);
  readonly #inbound: Inbound;
  readonly #gaps = new Gaps(() => this.#host.missed(this));
  #wire: Wire | undefined;
  #probing: Dialect | undefined;
  #calls = 0;
  #lost: GatewayError | undefined;
  #idle: (() => void)[] = [];

  constructor(options: ConnectionOptions) {
    this.name = options.name;
    this.clientInfo = options.clientInfo;
    this.#host = options.host;
    this.#inbound = new Inbound({
      name: options.name,
      log: options.log,
      pending: this.#pending,
      dropped: options.dropped,
      maxDepth: options.maxDepth,
      reply: (message) => this.#wire?.post(message),
      // The modern era has neither pings nor requests of servers.
      server: { canAsk: () => this.handshake?.era === "legacy", ping: (done) => this.#ping(done) },
      event: (event) => options.host.event(event),
      listChanged: (list) => options.host.listChanged(list),
      refused: (exchange, answer) => this.#onRefused(exchange, answer),
    });
    this.receiver = {
      receive: (chunks, _length, origin) => {
        this.heard++;
        this.#inbound.receive(chunks, origin);
      },
      oversize: (head, tail, error) => {
        this.heard++;
        this.#oversize.note(head, tail, error);
      },
      lost: (error, others, resend) => this.#onLost(error, others, resend),
      doubted: (error, exchange) => askForSession(this, exchange, () => exchange.fail(error)),
      missed: () => this.#gaps.note(),
    };
  }

  /** The wire below. */
  get wire(): Wire {
    return this.#wire!;
  }

  /** What requests are written in now. */
  get dialect(): Dialect | undefined {
    return this.handshake ?? this.#probing;
  }

  /** Calls of clients in flight. */
  get inFlight(): number {
    return this.#calls;
  }

  /** Whether it takes no more requests. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether the server asked a question of which it was not clear whose it was. */
  get asks(): boolean {
    return this.#inbound.asks;
  }

  /** Puts the connection on its wire. */
  attach(wire: Wire): void {
    this.#wire = wire;
  }

  /** Sends the call of a client. */
  call(call: Call): Promise<Answer> {
    const signal = abortableOf(call);
    if (signal.aborted) return Promise.reject(abortError(signal));
    const id = nextId();
    // Agents of the Pallas interface are promised a UUID; everybody else takes any text.
    const token = call.progress && randomUUID();
    const mirror = this.mirrors.size === 0 ? undefined : this.mirrors.get(call.name);
    const exchange = new Exchange({
      id,
      token,
      method: call.method,
      message: encodeCall(this, id, call, token),
      name: call.method === "completion/complete" ? undefined : call.name,
      mirrored:
        mirror && call.method === "tools/call" ? mirrorArguments(mirror, call.args) : undefined,
      call,
      takesTask: this.mayBegin(call),
      signal,
      owner: this,
    });
    this.send(exchange);
    return exchange.answer;
  }

  /** Whether the answer to a call may be a task of the server's. */
  mayBegin(call: Call): boolean {
    if (call.method !== "tools/call") return false;
    return this.takesTasks || (this.makesTasks && needsTask(call));
  }

  /** Asks for the answer to a call that became a task (2025-11-25); what the server asks meanwhile comes with it. */
  result(call: Call, taskId: string): Promise<Answer> {
    const id = nextId();
    const method = "tasks/result";
    const message = encodeOwn(this, id, method, { taskId });
    const signal = abortableOf(call);
    const exchange = new Exchange({ id, method, message, call, signal, owner: this });
    this.send(exchange);
    return exchange.answer;
  }

  /** Sends an exchange, perhaps one that an earlier connection could not deliver. */
  send(exchange: Exchange): void {
    exchange.owner = this;
    this.#pending.add(exchange);
    if (exchange.call) {
      this.#calls++;
      this.#inbound.calling(exchange.call);
    }
    if (this.#lost) exchange.fail(this.#lost);
    else this.wire.send(exchange);
  }

  /** Sends a request of the gateway's own. */
  async request(
    method: string,
    params: Json | undefined,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const exchange = this.open(method, params, options);
    const { timeout } = options;
    if (timeout === undefined) return exchange.answer;
    const timer = setTimer(() => {
      this.cancelled(exchange);
      exchange.fail(this.#timeout(method, timeout));
    }, timeout);
    try {
      return await exchange.answer;
    } finally {
      clearTimeout(timer);
    }
  }

  #timeout(method: string, ms: number): GatewayError {
    const message = `Server "${this.name}" did not answer ${method} within ${ms / 1000} s.`;
    return new GatewayError("timeout", message);
  }

  /** Sends a request whose answer may take as long as it likes. */
  open(method: string, params: Json | undefined, options: RequestOptions = {}): Exchange {
    const { signal, call, name } = options;
    const id = nextId();
    const message = encodeOwn(this, id, method, params, call);
    const exchange = new Exchange({ id, method, message, name, signal, owner: this });
    exchange.answer.catch(() => undefined);
    if (signal?.aborted) exchange.fail(abortError(signal));
    else this.send(exchange);
    return exchange;
  }

  /** Sends a notification. */
  notify(method: string, params?: Json): void {
    if (!this.#lost)
      this.wire.post(writeJson({ jsonrpc: "2.0", method, ...(params && { params }) }));
  }

  settled(exchange: Exchange): void {
    if (!this.#pending.delete(exchange)) return;
    this.#oversize.release(exchange);
    if (!exchange.call) return exchange.ended?.();
    this.#calls--;
    this.#inbound.release(exchange);
    if (this.#calls === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  cancelled(exchange: Exchange): void {
    // The modern era cancels over HTTP by closing the stream; initialize must not be cancelled (2025-11-25, Cancellation).
    const closes = this.wire.transport === "streamable-http" && this.handshake?.era === "modern";
    if (!closes && exchange.method !== "initialize" && exchange.method !== "server/discover") {
      this.notify("notifications/cancelled", {
        requestId: exchange.id,
        reason: "The caller no longer waits.",
      });
    }
    this.wire.drop(exchange);
  }

  #ping(done: (hasHeard: boolean) => void): void {
    // There requests overtake each other, and every question comes on the one stream.
    if (this.wire.transport === "sse") return done(false);
    const exchange = this.open("ping", undefined);
    if (exchange.done) return done(false);
    const timer = setTimer(() => exchange.fail(this.#timeout("ping", PING_MS)), PING_MS);
    exchange.ended = () => {
      clearTimeout(timer);
      done(exchange.answered);
    };
  }

  /** Waits for the calls in flight, at most `graceMs` where given. */
  drained(graceMs?: number): Promise<void> {
    if (this.#calls === 0 || graceMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = graceMs === undefined ? undefined : setTimer(resolve, graceMs);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Ends the conversation; whatever is in flight fails with `error`. */
  async close(error: GatewayError): Promise<void> {
    this.#lost ??= error;
    this.#failAll(error);
    this.#inbound.close();
    this.#gaps.close();
    await this.#wire?.close();
  }

  /** Writes in a dialect before the server agreed to it. */
  probe(dialect: Dialect | undefined): void {
    this.#probing = dialect;
    this.wire.speak(dialect);
  }

  /** Fixes the dialect for good. */
  agree(handshake: Handshake): void {
    this.handshake = handshake;
    this.takesTasks = handshake.era === "modern" && declaresTasks(handshake.capabilities);
    this.makesTasks = makesTasks(handshake);
    this.wire.speak(handshake);
  }

  #onRefused(exchange: Exchange, answer: Answer): void {
    const settle = (): void => exchange.settle(answer);
    if (!suspectLoss(this, exchange, answer.error!, settle)) settle();
  }

  #onLost(error: GatewayError, others: "fail" | "finish", resend: Exchange | undefined): void {
    const known = this.#lost !== undefined;
    this.#lost ??= error;
    if (resend) this.settled(resend);
    if (others === "fail") this.#failAll(error);
    const again = resend?.call && !resend.resent ? resend : undefined;
    if (!again) resend?.fail(error);
    if (again || !known) this.#host.lost(this, error, again);
  }

  #failAll(error: GatewayError): void {
    for (const exchange of this.#pending.values()) exchange.fail(error);
  }
}
