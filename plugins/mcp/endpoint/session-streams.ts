import type { ServerResponse } from "node:http";
import { isGatewayError, type Principal } from "propylon";
import type { EndpointContext } from "../view/context.ts";
import type { EndpointState } from "./endpoint-state.ts";
import { type Fault, RPC } from "../message/protocol.ts";
import { notification, sendFault } from "../message/reply.ts";
import type { Session } from "../session/session.ts";
import { SessionStream, tellGap } from "../session/session-stream.ts";
import { EventStream } from "../message/stream.ts";

/** Connections of one session that may stay open beside its stream. */
const MAX_OLDER = 4;

/** What was told within this time before a connection broke is told again, in milliseconds. */
const DOUBTFUL_MS = 5_000;

const TOO_MANY: Fault = {
  status: 409,
  code: RPC.server,
  message: `A session has one stream, and ${MAX_OLDER} older connections of this one are still open.`,
};

/** A client that reads the stream of its session. */
interface Reading {
  readonly session: Session;
  readonly out: EventStream;
  /** Of the last event that it has. */
  readonly eventId: string | undefined;
  /** Aborts when it is gone. */
  readonly signal: AbortSignal;
}

/** Opens the streams of sessions that belong to no call. */
export class SessionStreams {
  readonly #context: EndpointContext;
  readonly #live: EndpointState;

  constructor(context: EndpointContext, live: EndpointState) {
    this.#context = context;
    this.#live = live;
  }

  /**
   * The newest connection is the stream: behind a proxy the previous one may look open for long after its client is gone. That one
   * stays open and is told nothing more, since a client that is there would come again at its end, and so on forever.
   *
   * @param eventId of the last event that its client has, at whatever replica it came from
   */
  open(session: Session, res: ServerResponse, principal: Principal, eventId?: string): void {
    const { stream } = session;
    const isRead = stream instanceof SessionStream ? stream.isRead : stream?.open;
    const replaces = isRead && (eventId === undefined || !this.#live.remote);
    if (replaces && (session.left?.size ?? 0) >= MAX_OLDER) return sendFault(res, TOO_MANY, null);
    if (replaces) leave(session);
    const out = this.#openEvents(res, principal);
    res.once("close", () => forget(session, out));
    if (this.#live.remote === undefined) return this.#openAlone(session, res, out, replaces);
    const gone = new AbortController();
    res.once("close", () => gone.abort());
    const reading = { session, out, eventId, signal: gone.signal };
    const here = stream instanceof SessionStream && !stream.isFollowing ? stream : undefined;
    const seq = here?.placeOf(eventId);
    if (here && seq !== undefined) this.#attach(reading, here, seq, replaces);
    else void this.#move(reading);
  }

  /**
   * Where no other replica has the session.
   * @param replaces whether the connection before may have been gone for some time, with what was told on it
   */
  #openAlone(
    session: Session,
    res: ServerResponse,
    stream: EventStream,
    replaces: boolean | undefined,
  ): void {
    session.stream = stream;
    res.once("close", () => {
      if (session.stream !== stream) return;
      session.stream = undefined;
      forgetTold(session);
    });
    if (replaces) {
      tellListsAgain(session);
      tellGap(session, (message) => stream.send(message));
    }
    for (const uri of session.updates?.keys() ?? [])
      stream.send(notification("notifications/resources/updated", { uri }));
    session.updates = undefined;
    this.#live.tellChanges(session);
  }

  #openEvents(res: ServerResponse, principal: Principal): EventStream {
    const out = new EventStream(res, this.#context.streams);
    // The client waits for the head, and the first event may come much later.
    res.flushHeaders();
    const release = this.#context.host.leases.open(principal, (reason) => {
      const words = { level: "warning", logger: "propylon", data: reason };
      out.send(notification("notifications/message", words));
      out.cut();
    });
    res.once("close", release);
    return out;
  }

  #attach(
    { session, out, signal }: Reading,
    stream: SessionStream,
    seq: number,
    replaces: boolean | undefined,
  ): void {
    signal.addEventListener("abort", () => stream.detach(out));
    if (!stream.attach(out, seq) || replaces) this.#tellGap(session, stream);
    this.#live.tellChanges(session);
  }

  /** Takes over the stream from the replica that has it, or says that something may be missing where that one is gone. */
  async #move(reading: Reading): Promise<void> {
    const { session, out, eventId, signal } = reading;
    const { journals, host } = this.#context;
    session.stream?.end();
    const stream = (session.stream = new SessionStream(journals, session));
    stream.follow(out, eventId);
    const isFirst = eventId === undefined && session.home === undefined;
    const isWhole = isFirst || (await this.#followAny(reading, stream));
    if (!isFirst) await this.#live.store?.refresh(session).catch(() => {});
    if (session.stream !== stream || stream.ended.aborted || (signal.aborted && !isWhole))
      return this.#give(reading, stream);
    session.home = host.store.replica;
    this.#live.store?.saveLater(session);
    signal.addEventListener("abort", () => stream.detach(out));
    if (!stream.begin(out, eventId) || !isWhole) this.#tellGap(session, stream);
    this.#live.tellChanges(session);
  }

  /** Its client reads at another replica, or the session ended. */
  #give({ session, out }: Reading, stream: SessionStream): void {
    if (session.stream === stream) session.stream = undefined;
    stream.end();
    out.end();
  }

  /** Shows what the replica tells that has the stream, until it leaves it to this one; false where something may be missing. */
  async #followAny(reading: Reading, stream: SessionStream): Promise<boolean> {
    const { session, eventId } = reading;
    const { journals, host } = this.#context;
    const replicas = new Set([eventId && journals.replicaOf(eventId), session.home]);
    replicas.delete(host.store.replica);
    for (const replica of replicas) {
      if (replica === undefined || stream.ended.aborted) continue;
      const isWhole = await this.#follow(reading, stream, replica);
      if (isWhole !== undefined) return isWhole;
    }
    return false;
  }

  /** @returns whether nothing is missing; `undefined` where the replica has not, or no longer, what is to be shown */
  async #follow(
    { session, out, eventId, signal }: Reading,
    stream: SessionStream,
    replica: string,
  ): Promise<boolean | undefined> {
    const event = { replica, eventId: stream.from ?? eventId };
    const end = AbortSignal.any([signal, stream.ended]);
    let isWhole = true;
    try {
      for await (const part of this.#live.remote!.follow(session, event, end)) {
        if (part) stream.show(out, part);
        else isWhole = false;
      }
      return isWhole;
    } catch (error) {
      // Its client reads at another replica by now.
      if (isGatewayError(error) && error.code === "cancelled") stream.end();
      return undefined;
    }
  }

  #tellGap(session: Session, stream: SessionStream): void {
    tellGap(session, (message) => stream.send(message));
  }
}

/** Has the stream of a session leave its connection. */
function leave(session: Session): void {
  const { stream } = session;
  const out = stream instanceof SessionStream ? stream.leave() : stream;
  if (out) (session.left ??= new Set()).add(out);
}

function forget(session: Session, out: EventStream): void {
  session.left?.delete(out);
  if (session.left?.size === 0) session.left = undefined;
}

/** What was told shortly before a connection broke may not have arrived. */
function forgetTold(session: Session): void {
  const since = performance.now() - DOUBTFUL_MS;
  for (const [uri, at] of session.updates ?? []) if (at < since) session.updates!.delete(uri);
  if (session.toldListsAt >= since) tellListsAgain(session);
  session.toldLists = 0;
}

/** What was told on a connection that may have been gone then: its client hears of it on the next one. */
function tellListsAgain(session: Session): void {
  session.changed |= session.toldLists;
  session.toldLists = 0;
}
