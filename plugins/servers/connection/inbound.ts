import type { Logger } from "pino";
import { Answer, type Call, type Json, type Progress } from "propylon";
import { type ServerEvent, isObject } from "propylon/kit";
import {
  cleanMeta,
  includes,
  isNumber,
  type RpcError,
  SEVERITIES,
  severityOf,
  firstBytes,
} from "propylon/internal";
import type { Exchange, Pending } from "../wire/exchange.ts";
import type { Dropped } from "../wire/dropped.ts";
import { Faults } from "../wire/faults.ts";
import { type MessageFault, parseMessage, readMessage } from "../wire/message.ts";
import { type Asker, Owners, Questions } from "./questions.ts";
import { pruneDepth } from "./prune.ts";

/** How far into a line a message may begin, in bytes. */
const REACH = 4_096;
/** How a JSON-RPC message begins. */
const MESSAGE = /\{\s*"(?:jsonrpc|id|method|result|error)"\s*:/;

/**
 * Splits a line of invalid JSON into the text before it and the message. What begins as JSON has no text: it may hold what a caller
 * was to get, which belongs into no log.
 */
function splitBanner(chunks: readonly Buffer[]): {
  readonly text: string;
  readonly message?: readonly Buffer[];
} {
  const head = firstBytes(chunks, REACH).toString("latin1");
  const at = head.search(MESSAGE);
  const end = at === -1 ? head.indexOf("{") : at;
  const text = Buffer.from(end === -1 ? head : head.slice(0, end), "latin1").toString("utf8");
  const isText = text.trim() !== "" && !text.trimStart().startsWith("[{");
  if (at <= 0 || !isText) return { text: isText ? text.trim() : "" };
  return { text: text.trim(), message: [Buffer.concat(chunks).subarray(at)] };
}

/** The error that asks the user to open URLs first (2025-11-25, URLElicitationRequiredError). */
const URL_REQUIRED = -32042;

/** What a server did, in words for its call and for the log. */
const FAULTS: Readonly<Record<MessageFault, string>> = {
  syntax: "sent invalid JSON",
  depth: "sent JSON that nests too deep (limits.depth)",
  work: "sent JSON with too many keys, lists or texts",
  shape: "sent what is not a JSON-RPC message",
};

/** What an {@link Inbound} works with. */
export interface InboundOptions {
  readonly name: string;
  readonly log: Logger;
  readonly pending: Pending<Exchange>;
  readonly dropped: Dropped;
  /** Deepest nesting of a message. */
  readonly maxDepth: number;
  reply(message: string): void;
  readonly server: Asker;
  event(event: ServerEvent): void;
  listChanged(list: "tools" | "resources" | "prompts"): void;
  /** A request was answered with a JSON-RPC error. */
  refused(exchange: Exchange, answer: Answer): void;
}

/** Sorts what a server sends: answers to their requests, everything else to the one client it belongs to, or to nobody. */
export class Inbound {
  /** Whether the server asked a user or a model a question that could have been for several principals. */
  asks = false;
  readonly #options: InboundOptions;
  readonly #questions: Questions;
  readonly #owners: Owners;

  constructor(options: InboundOptions) {
    this.#options = options;
    this.#owners = new Owners(options.pending, options.server);
    this.#questions = new Questions({
      ...options,
      owners: this.#owners,
      unclear: (method) => this.#onUnclear(method),
    });
  }

  /** Takes one message; see {@link WireReceiver.receive}. Never throws, whatever it is: the caller is an event of a socket. */
  receive(chunks: readonly Buffer[], origin: Exchange | undefined): void {
    try {
      this.#read(chunks, origin);
    } catch (error) {
      this.#options.dropped.fault("sent what could not be handled", error);
    }
  }

  #read(chunks: readonly Buffer[], origin: Exchange | undefined): void {
    const { maxDepth } = this.#options;
    const { fault, ids, answer } = readMessage(chunks, maxDepth);
    // One definition that nests too deep takes no others with it.
    if (fault === "depth" && this.#find(ids[0], origin)?.method.endsWith("/list"))
      return this.#read([pruneDepth(chunks, maxDepth)], origin);
    if (fault === "syntax") return this.#onSyntax(chunks, ids, origin);
    if (fault) return this.#refuse(fault, ids, origin);
    if (answer && !claimsReserved(answer, chunks)) return this.#settle(ids[0], answer, origin);
    const message = parseMessage(chunks);
    if (message === undefined) return this.#refuse("work", ids, origin);
    if (Array.isArray(message)) for (const each of message) this.#dispatch(each, origin);
    else this.#dispatch(message, origin);
  }

  /** Many programs write a banner to the output that is for messages, some of them without a line break. */
  #onSyntax(
    chunks: readonly Buffer[],
    ids: readonly unknown[],
    origin: Exchange | undefined,
  ): void {
    const { text, message } = splitBanner(chunks);
    if (text !== "") this.#options.dropped.text("wrote text where only messages belong", text);
    if (message) return this.#read(message, origin);
    if (text === "" || ids.length > 0) this.#refuse("syntax", ids, origin);
  }

  /** Throws a message away. The requests that it names get no other answer, so they fail now and not when their time is over. */
  #refuse(fault: MessageFault, ids: readonly unknown[], origin: Exchange | undefined): void {
    const { name, dropped } = this.#options;
    dropped.fault(FAULTS[fault]);
    for (const id of ids) {
      this.#find(id, origin)?.fail(new Faults(name).protocol(FAULTS[fault]));
      this.#questions.late(id);
    }
  }

  /** A client's call goes out. */
  calling(call: Call): void {
    this.#owners.calling(call);
  }

  /** An exchange ended: what waited for it may now have one owner. */
  release(exchange: Exchange): void {
    this.#questions.release(exchange);
  }

  /** Refuses what still waits. */
  close(): void {
    this.#questions.close();
  }

  #dispatch(message: unknown, origin: Exchange | undefined): void {
    if (!isObject(message)) return this.#options.dropped.message("no JSON-RPC");
    const { id, method, result, error } = message;
    const params = isObject(message["params"]) ? cleanMeta(message["params"]) : undefined;
    // Servers of older revisions of JSON-RPC write the one that is absent as null.
    const isAnswer = (result ?? error ?? undefined) !== undefined;
    if (typeof method === "string" && !isAnswer) {
      if (typeof id === "string" || isNumber(id)) this.#questions.ask(id, method, params, origin);
      else this.#notification(method, params, origin);
    } else if (method !== undefined) this.#refuse("shape", [id], origin);
    else if (isObject(error) && (result ?? undefined) === undefined) this.#fail(id, error, origin);
    else if (isObject(result) && (error ?? undefined) === undefined)
      this.#settle(id, Answer.result(cleanMeta(result)), origin);
    else this.#refuse("shape", [id], origin);
  }

  #fail(id: unknown, error: Json, origin: Exchange | undefined): void {
    const { peer } = this.#find(id, origin)?.call ?? {};
    const data = error["code"] === URL_REQUIRED ? error["data"] : undefined;
    const visits = isObject(data) ? data["elicitations"] : undefined;
    if (peer && Array.isArray(visits))
      for (const visit of visits) if (isObject(visit)) this.#questions.visits(visit, peer);
    // A server that could not read the id answers with null; on the stream of one request that is clear enough.
    const isNameless = id === null || id === undefined;
    const exchange = origin && isNameless ? origin : this.#find(id, origin);
    if (exchange) this.#options.refused(exchange, Answer.error(toRpc(error)));
    else this.#late(id);
  }

  #late(id: unknown): void {
    this.#questions.late(id);
    this.#options.dropped.message("an answer to no request in flight here");
  }

  /** The request in flight that an answer belongs to. */
  #find(id: unknown, origin: Exchange | undefined): Exchange | undefined {
    const exchange = typeof id === "string" ? this.#options.pending.get(id) : undefined;
    return origin && origin !== exchange ? undefined : exchange;
  }

  #settle(id: unknown, answer: Answer, origin: Exchange | undefined): void {
    const exchange = this.#find(id, origin);
    if (!exchange) return this.#late(id);
    // Nobody would ask for a task that was not to be one (SEP-2663, Capability Negotiation).
    if (exchange.call && !exchange.takesTask && !this.#options.server.canAsk() && answer.isTask)
      return exchange.fail(
        new Faults(this.#options.name).protocol("began a task without being asked to"),
      );
    exchange.settle(answer);
  }

  #notification(method: string, params: Json | undefined, origin: Exchange | undefined): void {
    switch (method) {
      case "notifications/progress":
        return this.#progress(params, origin);
      case "notifications/message":
        return this.#log(params ?? {}, origin);
      case "notifications/cancelled":
        return this.#questions.withdraw(params?.["requestId"]);
      case "notifications/tools/list_changed":
        return this.#options.listChanged("tools");
      case "notifications/prompts/list_changed":
        return this.#options.listChanged("prompts");
      case "notifications/resources/list_changed":
        return this.#options.listChanged("resources");
      case "notifications/resources/updated":
        return this.#options.event({ type: "updated", params: withoutSubscription(params) });
      case "notifications/elicitation/complete":
        return (this.#questions.visitor(params ?? {}) ?? origin?.call?.peer)?.tell(method, params);
      case "notifications/subscriptions/acknowledged":
        return this.#acknowledged(params, origin);
      default:
        if (origin?.call) origin.call.peer.tell(method, params);
        else this.#options.event({ type: "notification", method, params });
    }
  }

  #progress(params: Json | undefined, origin: Exchange | undefined): void {
    const token = params?.["progressToken"];
    const exchange = typeof token === "string" ? this.#options.pending.byToken(token) : undefined;
    if (
      !exchange?.call?.progress ||
      (origin && origin !== exchange) ||
      typeof params?.["progress"] !== "number"
    )
      return;
    // Ours, not the client's. The message was parsed for this alone, and an object without one of its members is a slow one.
    params["progressToken"] = undefined;
    exchange.call.progress(params as unknown as Progress);
  }

  /**
   * Goes to the client of the call on whose stream it came. One that names no call may be about any call so far, also one that
   * ended, so it leaves only while all of them were one principal's (decision 0003).
   */
  #log(params: Json, origin: Exchange | undefined): void {
    const owner = origin?.call ? origin : this.#owners.find();
    if (owner === "conversations" || owner === "principals") {
      this.#options.dropped.logs++;
      return;
    }
    if (owner === undefined)
      return this.#options.event({
        type: "log",
        params,
        principal: this.#owners.principal ?? undefined,
      });
    const { peer } = owner.call!;
    // One session serves all clients, so it runs at the level of the most curious one.
    const wanted = peer.logLevel === undefined ? SEVERITIES.length : severityOf(peer.logLevel);
    if (severityOf(params["level"]) >= wanted) peer.tell("notifications/message", params);
  }

  #acknowledged(params: Json | undefined, origin: Exchange | undefined): void {
    const meta = params?.["_meta"];
    const id = isObject(meta) ? meta["io.modelcontextprotocol/subscriptionId"] : undefined;
    (
      origin ?? (typeof id === "string" ? this.#options.pending.get(id) : undefined)
    )?.acknowledged?.();
  }

  #onUnclear(method: string): void {
    // Roots are asked for at odd times, and a server that learns none goes on.
    this.asks ||= method !== "roots/list";
    this.#options.dropped.question();
  }
}

/**
 * How a reserved key looks in bytes: as it is, with its slash as an escape, or with letters as escapes, which are all `\u006x` or
 * `\u007x`. The name alone stands in what many servers say of themselves; a quote is what a search steps over fewest of.
 */
const CLAIMS = ['"propylon/', '"propylon\\', "\\u006", "\\u007"].map((text) => Buffer.from(text));

/** Whether a result that has not been parsed says in `_meta` what only the gateway may; most are not looked into for that. */
function claimsReserved(answer: Answer, chunks: readonly Buffer[]): boolean {
  if (!CLAIMS.some((bytes) => includes(chunks, bytes))) return false;
  const { result } = answer;
  return result !== undefined && cleanMeta(result) !== result;
}

function withoutSubscription(params: Json | undefined): Json {
  const { _meta: meta, ...rest } = params ?? {};
  if (!isObject(meta)) return rest;
  const { "io.modelcontextprotocol/subscriptionId": _, ...kept } = meta;
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}

function toRpc(error: Json): RpcError {
  const { code, message, ...rest } = error;
  return {
    ...rest,
    code: Number.isSafeInteger(code) ? (code as number) : -32603,
    message: typeof message === "string" ? message : "",
  };
}
