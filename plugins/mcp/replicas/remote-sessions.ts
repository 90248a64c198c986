import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { GatewayError, isGatewayError } from "propylon";
import {
  boundedRecord,
  FIRST_PROBLEM,
  LookupQuota,
  pause,
  timeoutSignal,
  writeJson,
} from "propylon/kit";
import type { RpcId } from "propylon/internal";
import { ASK_TIMEOUTS, type Store, type Topic } from "propylon/store";
import { z } from "zod";
import { askingReplica, settleAsk } from "../call/asks.ts";
import { type ClientResponse, isRpcId, isSameId } from "../message/client-message.ts";
import type { EndpointContext } from "../view/context.ts";
import { OVER } from "../message/lost-streams.ts";
import { sendRemote, RemoteStream } from "./remote-stream.ts";
import type { Session } from "../session/session.ts";
import { SessionStream, type StreamPart, streamPartSchema } from "../session/session-stream.ts";
import type { SessionStore } from "../session/session-store.ts";

/** Wait between attempts to listen while the store is away, in milliseconds. */
const RETRY_MS = 500;
/** Longest answer that goes to another replica, in characters of JSON. */
const MAX_ANSWER = 900_000;
/**
 * Streams that other replicas tell at a time, and that this one tells others: each is a question, and those are bounded. Beyond that a
 * client is told that it may have missed something.
 */
const FOLLOWS = { max: 300, maxOfOne: 150 };
/** Longest id of a request that is told to the others, in characters. */
const MAX_ID = 1_000;

const ownerSchema = z.object({
  /** Key of the session. */
  session: z.string(),
  /** Ref of its principal, who is compared at both replicas. */
  principal: z.string(),
});

const idSchema = z.custom<RpcId>(isRpcId);

const responseSchema = z.object({
  kind: z.literal("response"),
  id: idSchema,
  result: boundedRecord(z.string(), z.unknown(), 10_000).exactOptional(),
  error: z
    .object({ code: z.number(), message: z.string(), data: z.unknown().exactOptional() })
    .exactOptional(),
});

/** What one replica brings another, or wants of it. */
const questionSchema = ownerSchema.extend({
  response: responseSchema.optional(),
  eventId: z.string().optional(),
  /** The stream of the session itself, behind an event if its client has one. */
  stream: z.object({ eventId: z.string().optional() }).optional(),
});

/** What one replica tells all others. */
const newsSchema = ownerSchema.extend({ cancel: idSchema });

/** An event of a stream that another replica keeps. */
export interface KeptEvent {
  readonly replica: string;
  readonly eventId: string;
}

/**
 * The replicas of the same store, as far as they serve the same sessions: whichever of them a client's request comes to, its answers,
 * cancellations and streams reach the call they are about.
 */
export class RemoteSessions {
  readonly #context: EndpointContext;
  readonly #store: Store;
  readonly #sessions: Pick<SessionStore, "find" | "save" | "saveLater">;
  readonly #topic: string;
  readonly #news: Topic<unknown>;
  readonly #quota = new LookupQuota("calls at other replicas");
  readonly #follows: LookupQuota;
  readonly #lent: LookupQuota;
  readonly #closed = new AbortController();

  constructor(
    context: EndpointContext,
    sessions: Pick<SessionStore, "find" | "save" | "saveLater">,
  ) {
    const { store } = context.host;
    this.#context = context;
    this.#store = store;
    this.#sessions = sessions;
    const tell = (bound: "principal" | "total"): void =>
      context.host.emit("stream:refused", context.name, bound);
    this.#follows = new LookupQuota("streams at other replicas", FOLLOWS, tell);
    this.#lent = new LookupQuota("streams of this replica", FOLLOWS, tell);
    // Names of endpoints may be of any form.
    const name = createHash("sha256").update(context.name).digest("base64url");
    this.#topic = `sessions/${name}`;
    this.#news = store.topic(`session-news/${name}`);
    void this.#listen(() => store.answer(this.#topic, (body, signal) => this.#reply(body, signal)));
    void this.#listen(() => this.#news.subscribe((news) => this.#hear(news)));
  }

  /**
   * Brings a client's response to the replica whose call asked; one that is gone has no call that waits.
   * @throws {GatewayError} `unavailable`
   */
  async answer(session: Session, response: ClientResponse): Promise<void> {
    const replica = askingReplica(response);
    if (replica === undefined || replica === this.#store.replica) return;
    const fits = writeJson(response).length <= MAX_ANSWER;
    const question = { ...ownerOf(session), response: fits ? response : tooLarge(response.id) };
    await this.#quota.run(session.principal, async () => {
      if (!(await this.#store.isThere(replica))) return;
      const signal = timeoutSignal(ASK_TIMEOUTS.deliver);
      const asked = this.#store.ask(replica, this.#topic, question, signal);
      try {
        for await (const _ of asked);
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "not_found") throw error;
      }
    });
  }

  /**
   * Cancels a call of a session at whichever replica it runs.
   * @throws {GatewayError} `unavailable`
   */
  async cancel(session: Session, id: RpcId): Promise<void> {
    if (String(id).length > MAX_ID) return;
    const news = { ...ownerOf(session), cancel: id };
    await this.#quota.run(session.principal, () => this.#news.publish(news));
  }

  /** Reads on for a client where the stream of a call broke off that runs at another replica. */
  async resume(session: Session, event: KeptEvent, res: ServerResponse): Promise<void> {
    const { replica, eventId } = event;
    const gone = new AbortController();
    res.once("close", () => gone.abort());
    const question = { ...ownerOf(session), eventId };
    await sendRemote(res, {
      signal: AbortSignal.any([gone.signal, this.#closed.signal]),
      id: this.#context.journals.lost(session, eventId)?.id,
      eventId,
      texts: () => this.#store.ask<string>(replica, this.#topic, question, gone.signal),
      isThere: () => this.#quota.run(session.principal, () => this.#store.isThere(replica)),
    });
  }

  /**
   * What another replica tells a session's client, until it leaves that to this one.
   *
   * @throws {GatewayError} `not_found` where it does not; `cancelled` where the client reads at another by now; `unavailable`
   */
  async *follow(
    session: Session,
    { replica, eventId }: { readonly replica: string; readonly eventId: string | undefined },
    signal: AbortSignal,
  ): AsyncIterable<StreamPart> {
    const { principal } = session;
    const leave = this.#follows.take(principal);
    try {
      if (!(await this.#quota.run(principal, () => this.#store.isThere(replica)))) throw notHere();
      // One whose client went on meanwhile must not take the stream from where it is read now.
      signal.throwIfAborted();
      const question = { ...ownerOf(session), stream: eventId === undefined ? {} : { eventId } };
      const end = AbortSignal.any([signal, this.#closed.signal]);
      for await (const part of this.#store.ask(replica, this.#topic, question, end))
        yield streamPartSchema.parse(part, FIRST_PROBLEM);
    } finally {
      leave();
    }
  }

  close(): void {
    this.#closed.abort();
  }

  /** Listens as long as the endpoint lives, from whenever the store lets it. */
  async #listen(begin: () => Promise<() => unknown>): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const end = await begin().catch(() => undefined);
      if (end && signal.aborted) return void end();
      if (end) return signal.addEventListener("abort", () => void end(), { once: true });
      await pause(RETRY_MS, signal);
    }
  }

  async *#reply(body: unknown, signal: AbortSignal): AsyncIterable<string | StreamPart> {
    const {
      session: key,
      principal,
      response,
      eventId,
      stream,
    } = questionSchema.parse(body, FIRST_PROBLEM);
    const session = this.#sessions.find(key, principal);
    if (!session) throw notHere();
    if (response) {
      if (!settleAsk(session, response)) throw notHere();
      return;
    }
    if (stream) return yield* this.#handOver(session, stream.eventId, signal);
    const found = this.#context.journals.find(session, eventId ?? "");
    if (!found) throw notHere();
    if (found.journal.isOver(found.seq)) throw new GatewayError("method_not_allowed", OVER.message);
    yield* new RemoteStream(signal).follow(found.journal.reply, found.seq);
  }

  /** Leaves the stream of a session to the replica that asks; what its client was told is in the store then. */
  async *#handOver(
    session: Session,
    eventId: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<StreamPart> {
    const { stream } = session;
    const isHere = stream instanceof SessionStream && !stream.isFollowing;
    const seq = isHere ? stream.placeOf(eventId) : undefined;
    if (!isHere || seq === undefined) throw notHere();
    const leave = this.#lent.take(session.principal);
    try {
      const reader = stream.lend();
      if (session.tellChanges()) this.#sessions.saveLater(session);
      yield* stream.handOver(reader, seq, signal);
    } finally {
      leave();
    }
    if (session.stream === stream) session.stream = undefined;
    stream.end();
    await this.#sessions.save(session);
  }

  #hear(news: unknown): void {
    const { success, data } = newsSchema.safeParse(news, FIRST_PROBLEM);
    if (!success) return;
    const { session, principal, cancel } = data;
    const calls = this.#sessions.find(session, principal)?.calls;
    calls?.find(({ id }) => isSameId(id, cancel))?.cancel();
  }
}

function ownerOf({ key, principal }: Session): z.output<typeof ownerSchema> {
  return { session: key, principal };
}

function notHere(): GatewayError {
  return new GatewayError("not_found", "Nothing here waits for this.");
}

function tooLarge(id: RpcId): ClientResponse {
  const message = "The answer is too large for the replica whose call asked.";
  return { kind: "response", id, error: { code: -32603, message } };
}
