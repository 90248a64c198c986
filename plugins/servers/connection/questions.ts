import { type Json, type Peer, toGatewayError, type Call } from "propylon";
import { writeJson } from "propylon/kit";
import { cleanMeta, isAskable, type RpcError, type RpcId, toRpcError } from "propylon/internal";
import type { Exchange, Pending } from "../wire/exchange.ts";

/** How long a question may wait for its owner to become clear, in milliseconds. */
const HOLD_MS = 10_000;
/** Most questions held at a time; a server that asks more is broken, and each costs a timer and a set. */
const MAX_HELD = 100;

/** URLs that clients were asked to open and whose end is still to be told; more are forgotten, the oldest first. */
const MAX_VISITS = 1_000;

const NOBODY: RpcError = {
  code: -32601,
  message: "No call is in flight that this request could belong to.",
};
const UNCLEAR: RpcError = {
  code: -32603,
  message:
    "The session is used by several clients, and the request does not tell to which of them it belongs.",
};

/** What {@link Questions} works with. */
export interface QuestionsOptions {
  readonly pending: Pending<Exchange>;
  readonly owners: Owners;
  /** One was refused because it could be about calls of several clients. */
  unclear(method: string): void;
  reply(message: string): void;
}

interface Held {
  readonly id: RpcId;
  readonly method: string;
  readonly params: Json | undefined;
  /** The calls that ran when it came; later ones cannot be meant. */
  readonly candidates: Set<Exchange>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Requests of a server to a client (sampling, elicitation, roots). One session serves all clients, and over stdio such a
 * request does not say which call caused it. It goes to a client only when no other can be meant (decision 0003).
 */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #held = new Set<Held>();
  /** What withdraws questions that a client has, by the server's id as JSON. */
  readonly #forwarded = new Map<string, AbortController>();
  /** Whose user was asked to open a URL, by `elicitationId` (2025-11-25); `undefined` = an id that several were given. */
  readonly #visitors = new Map<string, Peer | undefined>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Takes a request from the server and sees that it is answered. */
  ask(id: RpcId, method: string, params: Json | undefined, origin: Exchange | undefined): void {
    if (method === "ping") return this.#reply(id, { result: {} });
    if (!isAskable(method))
      return this.#reply(id, {
        error: { code: -32601, message: `Method "${method}" is not known here.` },
      });
    if (origin?.call) return void this.#forward(id, method, params, origin);
    const owner = this.#options.owners.find();
    if (owner === "principals") this.#refuse(id, method);
    else if (owner === "conversations") this.#hold(id, method, params);
    else if (owner) void this.#forward(id, method, params, owner);
    else this.#reply(id, { error: NOBODY });
  }

  /** The server no longer wants an answer. */
  withdraw(id: unknown): void {
    const key = writeJson(id);
    for (const held of this.#held) if (writeJson(held.id) === key) this.#forget(held);
    this.#forwarded.get(key)?.abort();
  }

  /** A client's user is asked to open a URL: by a question, or by the error that ended a call. */
  visits({ elicitationId }: Json, peer: Peer): void {
    if (typeof elicitationId !== "string") return;
    const known = this.#visitors.has(elicitationId);
    const isOnly = !known || this.#visitors.get(elicitationId)?.key === peer.key;
    this.#visitors.set(elicitationId, isOnly ? peer : undefined);
    if (this.#visitors.size > MAX_VISITS)
      this.#visitors.delete(this.#visitors.keys().next().value!);
  }

  /** The one whose user did what a URL was opened for; asked once. */
  visitor({ elicitationId }: Json): Peer | undefined {
    const peer = this.#visitors.get(String(elicitationId));
    this.#visitors.delete(String(elicitationId));
    return peer;
  }

  /** A call ended. Without the server's answer it stays a candidate: the server may still be at work on it. */
  release(exchange: Exchange): void {
    this.#options.owners.release(exchange);
    if (exchange.answered) for (const held of this.#held) this.#exclude(held, exchange.id);
  }

  /** An answer to no call in flight; perhaps to one that was given up. */
  late(id: unknown): void {
    this.#options.owners.late(id);
    for (const held of this.#held) this.#exclude(held, id);
  }

  /** Refuses everything held. */
  close(): void {
    for (const held of this.#held) this.#forget(held);
    this.#visitors.clear();
  }

  #exclude(held: Held, id: unknown): void {
    for (const candidate of held.candidates)
      if (candidate.id === id) held.candidates.delete(candidate);
    const owner = this.#options.owners.among(held.candidates);
    if (owner === "conversations") return;
    this.#forget(held);
    if (owner) void this.#forward(held.id, held.method, held.params, owner);
    else this.#reply(held.id, { error: NOBODY });
  }

  #hold(id: RpcId, method: string, params: Json | undefined): void {
    if (this.#held.size >= MAX_HELD) return this.#refuse(id, method);
    const candidates = new Set(
      [...this.#options.pending.values()].filter((exchange) => exchange.call),
    );
    const timer = setTimeout(() => {
      this.#forget(held);
      this.#refuse(id, method);
    }, HOLD_MS);
    const held: Held = { id, method, params, candidates, timer };
    this.#held.add(held);
  }

  /** Answers a question that cannot be passed on as it was asked. */
  refuse(id: RpcId, message: string): void {
    this.#reply(id, { error: { code: -32602, message } });
  }

  #refuse(id: RpcId, method: string): void {
    this.#options.unclear(method);
    this.#reply(id, { error: UNCLEAR });
  }

  #forget(held: Held): void {
    clearTimeout(held.timer);
    this.#held.delete(held);
  }

  async #forward(
    id: RpcId,
    method: string,
    params: Json | undefined,
    owner: Exchange,
  ): Promise<void> {
    const { peer } = owner.call!;
    const withdrawal = new AbortController();
    const key = writeJson(id);
    this.#forwarded.set(key, withdrawal);
    if (method === "elicitation/create") this.visits(params ?? {}, peer);
    try {
      this.#reply(id, { result: cleanMeta(await peer.ask(method, params, withdrawal.signal)) });
    } catch (error) {
      // Nobody waits for the answer to what was withdrawn.
      if (!withdrawal.signal.aborted) this.#reply(id, { error: refusalOf(error) });
    } finally {
      this.#forwarded.delete(key);
    }
  }

  #reply(id: RpcId, outcome: { result: Json } | { error: RpcError }): void {
    this.#options.reply(writeJson({ jsonrpc: "2.0", id, ...outcome }));
  }
}

/** The client's own refusal as it came; for anything else the gateway's words. */
function refusalOf(thrown: unknown): RpcError {
  const error = toGatewayError(thrown);
  const own = error.data?.["rpcError"] as RpcError | undefined;
  return own ?? toRpcError(error);
}

/**
 * Whose a message of a server is that names no call (decision 0003): a call in flight of the only conversation; or that of
 * several `conversations` of one principal, or of several `principals`. `undefined` = nobody calls.
 */
export type Owner = Exchange | "conversations" | "principals" | undefined;

/** The server at the other end. */
export interface Asker {
  /** Whether it has requests of its own. */
  canAsk(): boolean;
  /** Calls back when its answer comes, before anything behind that is read; or when none comes. */
  ping(done: (hasHeard: boolean) => void): void;
}

/** Calls that were given up and that are remembered; at this number nothing is told apart. */
const MAX_LEFT = 1_000;

/**
 * The callers of one connection. A message that names no call may be about any call that the connection ever carried: an ended
 * one as well, since servers go on working behind an answer, a cancellation or a timeout. So it leaves only while all calls
 * were made by one principal.
 */
export class Owners {
  readonly #pending: Pending<Exchange>;
  readonly #server: Asker;
  /** Conversations of calls that were given up, by id: the server may be at work on them, and ask. */
  #left = new Map<string, string>();
  /** Those among them of which the server is being asked whether it has heard. */
  #checked = new Map<string, string>();
  #principal: string | null | undefined;

  constructor(pending: Pending<Exchange>, server: Asker) {
    this.#pending = pending;
    this.#server = server;
  }

  /** Ref of the principal of all calls so far; `null` = of several, `undefined` = there was no call. */
  get principal(): string | null | undefined {
    return this.#principal;
  }

  /** A call goes out. */
  calling({ principal: { ref } }: Call): void {
    if (ref === this.#principal) return;
    this.#principal = this.#principal === undefined ? ref : null;
  }

  /** A call has its end. */
  release({ id, call, answered }: Exchange): void {
    if (!call || answered || !this.#server.canAsk()) return;
    this.#remember(id, call.peer.key);
    this.#check();
  }

  /** An answer to no call in flight; perhaps to one that was given up. */
  late(id: unknown): void {
    for (const calls of [this.#left, this.#checked])
      if (calls.size < MAX_LEFT) calls.delete(id as string);
  }

  /**
   * Finds out that the server has heard which calls were given up. Its answer to a ping comes behind what it asked before, and
   * a call that it knows to be given up asks nothing more.
   */
  #check(): void {
    if (this.#checked.size > 0 || this.#left.size === 0) return;
    [this.#left, this.#checked] = [this.#checked, this.#left];
    this.#server.ping((hasHeard) => {
      const unheard = hasHeard ? [] : [...this.#checked];
      this.#checked.clear();
      for (const [id, conversation] of unheard) this.#remember(id, conversation);
      if (hasHeard) this.#check();
    });
  }

  #remember(id: string, conversation: string): void {
    if (this.#left.size < MAX_LEFT) this.#left.set(id, conversation);
  }

  /** Whose a message is that comes now. */
  find(): Owner {
    return this.#principal === null ? "principals" : this.among(this.#pending.values());
  }

  /** Whose a message is that came while these calls were in flight. */
  among(inFlight: Iterable<Exchange>): Exchange | "conversations" | undefined {
    const owner = ownerOf(inFlight);
    return typeof owner === "object" && !this.#isOnly(owner.call!.peer.key)
      ? "conversations"
      : owner;
  }

  #isOnly(conversation: string): boolean {
    return [this.#left, this.#checked].every(
      (calls) =>
        calls.size < MAX_LEFT && [...calls.values()].every((each) => each === conversation),
    );
  }
}

/** The one conversation of these calls, if it is one. */
function ownerOf(exchanges: Iterable<Exchange>): Exchange | "conversations" | undefined {
  let owner: Exchange | undefined;
  for (const exchange of exchanges) {
    if (!exchange.call) continue;
    if (owner && owner.call!.peer.key !== exchange.call.peer.key) return "conversations";
    owner ??= exchange;
  }
  return owner;
}
