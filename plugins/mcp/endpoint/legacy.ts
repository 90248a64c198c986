import { faultPieces, EventStream } from "../message/stream.ts";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "propylon";
import { BatchReply } from "../message/batch.ts";
import type { EndpointContext } from "../view/context.ts";
import type { EndpointState } from "./endpoint-state.ts";
import { type ClientMessage, type Request, headerValue } from "../message/client-message.ts";
import {
  type CallRequest,
  type Forward,
  invalid,
  isCallRequest,
  isFault,
  toForward,
} from "../view/forward.ts";
import { LegacyCall } from "../call/legacy-call.ts";
import { isListMethod, type ListMethod } from "../view/list.ts";
import { LegacySessions, type SessionRequest } from "./legacy-sessions.ts";
import { LOST_CALL, NOT_RESUMABLE, sendOver } from "../message/lost-streams.ts";
import { type Fault, RPC } from "../message/protocol.ts";
import {
  type Accepts,
  type Reply,
  HttpReply,
  resultPieces,
  sendEmpty,
  sendFault,
} from "../message/reply.ts";
import { isOfSession, isTold, toldId } from "../message/event-id.ts";
import { SessionMethods } from "./session-methods.ts";
import { SessionStreams } from "./session-streams.ts";
import type { Session } from "../session/session.ts";

/** Batches above this are refused. */
const MAX_BATCH = 100;

/** Revisions up to 2025-11-25: sessions, a standalone stream per session, requests in both directions. */
export class LegacyFace {
  readonly #context: EndpointContext;
  readonly #sessions: LegacySessions;
  readonly #methods: SessionMethods;
  readonly #streams: SessionStreams;
  readonly #live: EndpointState;

  constructor(context: EndpointContext, live: EndpointState) {
    this.#context = context;
    this.#live = live;
    this.#sessions = new LegacySessions(context, live);
    this.#methods = new SessionMethods(context, live);
    this.#streams = new SessionStreams(context, live);
  }

  /** Serves one posted message. */
  post(
    message: ClientMessage,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    if (message.kind === "request" && message.method === "initialize") {
      const reply = new HttpReply(res, accepts, this.#context.streams);
      this.#sessions.initialize(message, res, principal, reply);
      return;
    }
    const id = message.kind === "request" ? message.id : null;
    this.#sessions.use({ req, res, principal, id }, (session) => {
      if (message.kind === "request") {
        const { journals } = this.#context;
        const answered = isCallRequest(message) ? { session, id: message.id, journals } : undefined;
        const reply = new HttpReply(res, accepts, this.#context.streams, answered);
        return this.#request(session, message, reply, principal, req.headers);
      }
      const work = this.#methods.oneWay(session, message);
      this.#accept({ req, res, principal, id }, work);
    });
  }

  /** Answers a message without an answer of its own, once it is where it belongs. */
  #accept(request: SessionRequest, work: Promise<unknown> | undefined): void {
    const { res } = request;
    if (work === undefined) return sendEmpty(res, 202);
    work
      .then(() => sendEmpty(res, 202))
      .catch((error: unknown) => this.#sessions.refuse(request, error));
  }

  /** Serves a JSON-RPC batch, which revisions before 2025-06-18 know. */
  batch(
    messages: readonly ClientMessage[],
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    this.#sessions.use({ req, res, principal, id: null }, (session) => {
      const problem = batchProblem(session, messages);
      if (problem !== undefined)
        return sendFault(res, { status: 400, code: RPC.invalidRequest, message: problem }, null);
      const requests = messages.filter((message) => message.kind === "request");
      const oneWay = messages.flatMap((message) =>
        message.kind === "request" ? [] : (this.#methods.oneWay(session, message) ?? []),
      );
      const told = oneWay.length > 0 ? Promise.all(oneWay) : undefined;
      if (requests.length === 0) return this.#accept({ req, res, principal, id: null }, told);
      // What cannot be brought there is told by the end of the call that waits for it.
      told?.catch(() => {});
      const whole = new HttpReply(res, accepts, this.#context.streams);
      const batch = new BatchReply(whole, requests.length);
      for (const request of requests)
        this.#request(session, request, batch.item(), principal, req.headers);
    });
  }

  /** Opens the standalone stream of a session, or reads on where the stream of a call broke off. */
  get(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    this.#sessions.use({ req, res, principal, id: null }, (session) => {
      const last = headerValue(req.headers["last-event-id"]);
      if (last === undefined || isOfSession(last))
        this.#streams.open(session, res, principal, last);
      else this.#resume(session, last, res, principal);
    });
  }

  /** Ends a session. */
  delete(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const request = { req, res, principal, id: null };
    this.#sessions.use(request, (session) => this.#sessions.end(session, request));
  }

  #resume(session: Session, eventId: string, res: ServerResponse, principal: Principal): void {
    const { journals, streams } = this.#context;
    const { remote } = this.#live;
    const found = journals.find(session, eventId);
    if (isTold(eventId) || found?.journal.isOver(found.seq)) return sendOver(res);
    if (found) return found.journal.reply.resume(res, found.seq);
    const replica = journals.replicaOf(eventId);
    if (replica !== undefined && remote)
      return void remote.resume(session, { replica, eventId }, res);
    const lost = journals.lost(session, eventId);
    if (lost === undefined) return sendFault(res, NOT_RESUMABLE, null);
    if (lost.id === undefined) return this.#streams.open(session, res, principal);
    new EventStream(res, streams).end(faultPieces(LOST_CALL, lost.id), toldId(eventId));
  }

  #request(
    session: Session,
    request: Request,
    reply: Reply,
    principal: Principal,
    headers: IncomingHttpHeaders,
  ): void {
    const { method, id, params = {} } = request;
    if (isCallRequest(request)) return this.#call(session, request, reply, principal, headers);
    if (isListMethod(method)) return this.#list(method, request, principal, reply);
    const answer = (fault: Fault | undefined): void =>
      reply.end(fault === undefined ? resultPieces({}, id) : faultPieces(fault, id));
    const outcome = this.#methods.request(session, method, params);
    if (outcome instanceof Promise) void outcome.then(answer);
    else answer(outcome);
  }

  #call(
    session: Session,
    request: CallRequest,
    reply: Reply,
    principal: Principal,
    headers: IncomingHttpHeaders,
  ): void {
    const { method, id, params = {} } = request;
    // Two calls of one id could not be told apart when one is cancelled.
    if (session.isRunning(id))
      return reply.end(
        faultPieces(
          { code: RPC.invalidRequest, message: "A request with this id is still running." },
          id,
        ),
      );
    const call = { id, method, params, principal, headers };
    const find = (): Forward | Fault =>
      toForward(this.#context.views.of(principal), method, params, principal);
    const forward = find();
    if (!isFault(forward)) new LegacyCall(this.#context, reply, call, session).run(call, forward);
    else if (this.#context.early.concerns(forward))
      void new LegacyCall(this.#context, reply, call, session).runEarly(call, find);
    else reply.end(faultPieces(forward, id));
  }

  #list(method: ListMethod, { id, params }: Request, principal: Principal, reply: Reply): void {
    if (params?.["cursor"] !== undefined)
      return reply.end(faultPieces(invalid("Unknown cursor: lists come in one page."), id));
    const { settling } = this.#context;
    const answer = (): void =>
      reply.end(
        this.#context.views
          .of(principal)
          .lists[method].encode(id, "legacy", this.#context.host.serverInfo),
      );
    if (settling === undefined) return answer();
    void settling.then(() => {
      const fault = this.#context.faultAfterWait(principal);
      if (fault === undefined) answer();
      else reply.end(faultPieces(fault, id), fault.status);
    });
  }
}

function batchProblem(session: Session, messages: readonly ClientMessage[]): string | undefined {
  if (session.version >= "2025-06-18")
    return `Protocol version ${session.version} has no JSON-RPC batches.`;
  if (messages.length > MAX_BATCH) return `A batch may have ${MAX_BATCH} messages.`;
  const initializes = messages.some(
    (message) => message.kind === "request" && message.method === "initialize",
  );
  return initializes ? "initialize cannot be part of a batch." : undefined;
}
