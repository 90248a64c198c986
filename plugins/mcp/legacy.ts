import { faultPieces, EventStream } from "./stream.ts";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Json, Principal } from "propylon";
import { isObject } from "propylon/kit";
import { BatchReply } from "./batch.ts";
import type { EndpointContext } from "./context.ts";
import { type ClientMessage, type Request, headerValue } from "./client-message.ts";
import {
  type CallRequest,
  type Forward,
  invalid,
  isCallRequest,
  isFault,
  toForward,
} from "./forward.ts";
import { LegacyCall } from "./legacy-call.ts";
import { isListMethod, type ListMethod } from "./list.ts";
import { type Fault, GONE, LEGACY_CLIENT_VERSIONS, RPC } from "./protocol.ts";
import {
  type Accepts,
  type Reply,
  HttpReply,
  notification,
  resultPieces,
  sendFault,
} from "./reply.ts";
import { NOT_RESUMABLE, sessionFault, type SessionMethods } from "./session-methods.ts";
import type { Session, SessionTable } from "./session.ts";
import type { View } from "./view.ts";

/** Batches above this are refused. */
const MAX_BATCH = 100;

/** Revisions up to 2025-11-25: sessions, a standalone stream per session, requests in both directions. */
export class LegacyFace {
  readonly #context: EndpointContext;
  readonly #sessions: SessionTable;
  readonly #methods: SessionMethods;

  constructor(context: EndpointContext, sessions: SessionTable, methods: SessionMethods) {
    this.#context = context;
    this.#sessions = sessions;
    this.#methods = methods;
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
      void this.#initialize(
        message,
        res,
        principal,
        new HttpReply(res, accepts, this.#context.streams),
      );
      return;
    }
    const session = this.#session(
      req,
      res,
      principal,
      message.kind === "request" ? message.id : null,
    );
    if (session === undefined) return;
    if (message.kind === "request") {
      const { journals } = this.#context;
      const answered = isCallRequest(message) ? { session, id: message.id, journals } : undefined;
      const reply = new HttpReply(res, accepts, this.#context.streams, answered);
      this.#request(session, message, reply, principal, req.headers);
      return;
    }
    this.#methods.oneWay(session, message);
    res.writeHead(202).end();
  }

  /** Serves a JSON-RPC batch, which revisions before 2025-06-18 know. */
  batch(
    messages: readonly ClientMessage[],
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    const session = this.#session(req, res, principal, null);
    if (session === undefined) return;
    const problem = batchProblem(session, messages);
    if (problem !== undefined)
      return sendFault(res, { status: 400, code: RPC.invalidRequest, message: problem }, null);
    const requests = messages.filter((message) => message.kind === "request");
    for (const message of messages)
      if (message.kind !== "request") this.#methods.oneWay(session, message);
    if (requests.length === 0) {
      res.writeHead(202).end();
      return;
    }
    const batch = new BatchReply(
      new HttpReply(res, accepts, this.#context.streams),
      requests.length,
    );
    for (const request of requests)
      this.#request(session, request, batch.item(), principal, req.headers);
  }

  /** Opens the standalone stream of a session. */
  get(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const session = this.#session(req, res, principal, null);
    if (session === undefined) return;
    const last = headerValue(req.headers["last-event-id"]);
    if (last !== undefined) return this.#resume(session, last, res);
    if (session.stream?.open) {
      return sendFault(
        res,
        { status: 409, code: RPC.server, message: "Only one stream is allowed per session." },
        null,
      );
    }
    const stream = new EventStream(res, this.#context.streams);
    // The client waits for the head, and the first event may come much later.
    res.flushHeaders();
    session.stream = stream;
    const release = this.#context.host.leases.open(principal, (reason) => {
      const words = { level: "warning", logger: "propylon", data: reason };
      stream.send(notification("notifications/message", words));
      stream.cut();
    });
    res.once("close", () => {
      release();
      if (session.stream === stream) session.stream = undefined;
    });
    session.tellChanges();
  }

  /** Reads on where the stream of a call broke off. */
  #resume(session: Session, lastEventId: string, res: ServerResponse): void {
    const found = this.#context.journals.find(session, lastEventId);
    if (found) found.journal.reply.resume(res, found.seq);
    else sendFault(res, NOT_RESUMABLE, null);
  }

  /** Ends a session. */
  delete(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const session = this.#session(req, res, principal, null);
    if (session === undefined) return;
    this.#sessions.delete(session);
    res.writeHead(200).end();
  }

  #session(
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    id: string | number | null,
  ): Session | undefined {
    const { headers } = req;
    const given = headerValue(headers["mcp-session-id"]);
    const version = headerValue(headers["mcp-protocol-version"]);
    const session = given === undefined ? undefined : this.#sessions.find(given, principal.ref);
    if (
      session !== undefined &&
      (version === undefined || LEGACY_CLIENT_VERSIONS.includes(version))
    ) {
      session.viewer = principal;
      return session;
    }
    sendFault(res, sessionFault(given, session, version), id);
    return undefined;
  }

  async #initialize(
    { id, params = {} }: Request,
    res: ServerResponse,
    principal: Principal,
    reply: Reply,
  ): Promise<void> {
    const { capabilities = {}, protocolVersion } = params;
    if (!isObject(capabilities) || typeof protocolVersion !== "string") {
      return reply.end(
        faultPieces(invalid("initialize needs protocolVersion and capabilities."), id),
      );
    }
    // What the servers can do is only known once they have answered.
    await this.#context.settling;
    if (res.destroyed) return;
    if (this.#context.closed) return reply.end(faultPieces(GONE, id), GONE.status);
    const version = LEGACY_CLIENT_VERSIONS.includes(protocolVersion)
      ? protocolVersion
      : LEGACY_CLIENT_VERSIONS[0]!;
    const session = this.#sessions.open(principal.ref, version, capabilities);
    if (session === undefined)
      return reply.end(faultPieces(invalid("The declared capabilities are too large."), id));
    session.owner = principal;
    session.viewer = principal;
    session.view = this.#context.views.of(principal);
    this.#context.host.emit("session:open", this.#context.name, session.key);
    reply.end(resultPieces(this.#initializeResult(version, session.view), id), 200, {
      "Mcp-Session-Id": session.id,
    });
  }

  #initializeResult(protocolVersion: string, { capabilities, instructions }: View): Json {
    const { serverInfo } = this.#context.host;
    return {
      protocolVersion,
      capabilities,
      serverInfo,
      ...(instructions !== undefined && { instructions }),
    };
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
    const answer = (): void =>
      reply.end(
        this.#context.views
          .of(principal)
          .lists[method].encode(id, "legacy", this.#context.host.serverInfo),
      );
    const { settling } = this.#context;
    if (settling === undefined) answer();
    else void settling.then(answer);
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
