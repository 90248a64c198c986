import type { IncomingMessage, ServerResponse } from "node:http";
import type { Json, Principal } from "../types.ts";
import { settleAsk } from "./asks.ts";
import { BatchReply } from "./batch.ts";
import type { EndpointContext } from "./context.ts";
import type { Message, Request } from "./envelope.ts";
import { headerValue } from "./envelope.ts";
import { invalid, isCallMethod, toForward } from "./forward.ts";
import { LegacyCall } from "./legacy-call.ts";
import { LIST_KEY } from "./list.ts";
import type { ListMethod } from "./list.ts";
import type { Fault } from "./protocol.ts";
import { isObject, LEGACY_VERSIONS, LOG_LEVELS, RPC } from "./protocol.ts";
import type { Accepts, Reply } from "./reply.ts";
import { faultPieces, HttpReply, notification, resultPieces, sendFault } from "./reply.ts";
import type { Session, SessionTable } from "./session.ts";
import { CHANGED } from "./session.ts";
import { EventStream } from "./stream.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Batches above this are refused. */
const MAX_BATCH = 100;
/** Client capabilities above this many characters of JSON are refused: a session is a small record. */
const MAX_CAPABILITIES = 4096;

/** Revisions up to 2025-11-25: sessions, a standalone stream per session, requests in both directions. */
export class LegacyFace {
  readonly #context: EndpointContext;
  readonly #sessions: SessionTable;
  readonly #subscriptions: Subscriptions<Session>;
  readonly #onLogLevel: () => void;

  constructor(
    context: EndpointContext,
    sessions: SessionTable,
    subscriptions: Subscriptions<Session>,
    onLogLevel: () => void,
  ) {
    this.#context = context;
    this.#sessions = sessions;
    this.#subscriptions = subscriptions;
    this.#onLogLevel = onLogLevel;
  }

  /** Serves one posted message. */
  post(
    message: Message,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    if (message.kind === "request" && message.method === "initialize")
      return this.#initialize(message, res, principal, accepts);
    const session = this.#session(
      req,
      res,
      principal,
      message.kind === "request" ? message.id : null,
    );
    if (session === undefined) return;
    if (message.kind === "request") {
      this.#request(
        session,
        message,
        new HttpReply(res, accepts, this.#context.streams),
        principal,
      );
      return;
    }
    this.#oneWay(session, message);
    res.writeHead(202).end();
  }

  /** Serves a JSON-RPC batch, which revisions before 2025-06-18 know. */
  batch(
    messages: readonly Message[],
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    const session = this.#session(req, res, principal, null);
    if (session === undefined) return;
    const fault = batchFault(session, messages);
    if (fault !== undefined) return sendFault(res, fault, null);
    const requests = messages.filter((message) => message.kind === "request");
    for (const message of messages) if (message.kind !== "request") this.#oneWay(session, message);
    if (requests.length === 0) {
      res.writeHead(202).end();
      return;
    }
    const batch = new BatchReply(
      new HttpReply(res, accepts, this.#context.streams),
      requests.length,
    );
    for (const request of requests) this.#request(session, request, batch.item(), principal);
  }

  /** Opens the standalone stream of a session. */
  get(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const session = this.#session(req, res, principal, null);
    if (session === undefined) return;
    if (session.stream?.open) {
      return sendFault(
        res,
        { status: 409, code: RPC.server, message: "Only one stream is allowed per session." },
        null,
      );
    }
    const stream = new EventStream(res, this.#context.streams);
    session.stream = stream;
    res.once("close", () => {
      if (session.stream === stream) session.stream = undefined;
    });
    tellChanges(session);
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
    const session = given === undefined ? undefined : this.#sessions.find(given, principal.id);
    if (session !== undefined && (version === undefined || LEGACY_VERSIONS.includes(version)))
      return session;
    sendFault(res, sessionFault(given, session, version), id);
    return undefined;
  }

  async #settled(): Promise<void> {
    if (this.#context.settling !== undefined) await this.#context.settling;
  }

  #initialize(request: Request, res: ServerResponse, principal: Principal, accepts: Accepts): void {
    const reply = new HttpReply(res, accepts, this.#context.streams);
    const { params } = request;
    const capabilities = params?.["capabilities"] ?? {};
    if (!isObject(capabilities) || typeof params?.["protocolVersion"] !== "string") {
      return reply.end(
        faultPieces(invalid("initialize needs protocolVersion and capabilities."), request.id),
      );
    }
    if (JSON.stringify(capabilities).length > MAX_CAPABILITIES) {
      return reply.end(
        faultPieces(
          invalid(`capabilities are larger than ${MAX_CAPABILITIES} characters.`),
          request.id,
        ),
      );
    }
    const version = LEGACY_VERSIONS.includes(params["protocolVersion"])
      ? params["protocolVersion"]
      : LEGACY_VERSIONS[0]!;
    void this.#settled().then(() => {
      if (res.destroyed) return;
      const session = this.#sessions.open(principal.id, version, capabilities);
      this.#context.host.emit("session:open", this.#context.name, session.key);
      reply.end(resultPieces(this.#initializeResult(version), request.id), 200, {
        "Mcp-Session-Id": session.id,
      });
    });
  }

  #initializeResult(protocolVersion: string): Json {
    const { capabilities, instructions } = this.#context.view;
    const { serverInfo } = this.#context.host;
    return {
      protocolVersion,
      capabilities,
      serverInfo,
      ...(instructions !== undefined && { instructions }),
    };
  }

  #request(session: Session, request: Request, reply: Reply, principal: Principal): void {
    const { method, id } = request;
    if (isCallMethod(method)) return this.#call(session, request, reply, principal);
    if (Object.hasOwn(LIST_KEY, method)) return this.#list(method as ListMethod, request, reply);
    const answer = this.#local(session, method, request.params ?? {});
    if (answer instanceof Promise) {
      void answer.then((settled) =>
        reply.end(
          "code" in settled ? faultPieces(settled as Fault, id) : resultPieces(settled, id),
        ),
      );
    } else
      reply.end("code" in answer ? faultPieces(answer as Fault, id) : resultPieces(answer, id));
  }

  #call(session: Session, request: Request, reply: Reply, principal: Principal): void {
    const { method, id, params = {} } = request;
    if (!isCallMethod(method)) return;
    const forward = toForward(this.#context.view, method, params);
    if ("code" in forward) return reply.end(faultPieces(forward, id));
    const call = { id, method, params, principal };
    void new LegacyCall(this.#context, reply, call, session).run(call, forward);
  }

  #list(method: ListMethod, { id, params }: Request, reply: Reply): void {
    if (params?.["cursor"] !== undefined)
      return reply.end(faultPieces(invalid("Unknown cursor: lists come in one page."), id));
    const answer = (): void =>
      reply.end(
        this.#context.view.lists[method].encode(id, "legacy", this.#context.host.serverInfo),
      );
    if (this.#context.settling === undefined) answer();
    else void this.#settled().then(answer);
  }

  #local(session: Session, method: string, params: Json): Json | Fault | Promise<Json | Fault> {
    switch (method) {
      case "ping":
        return {};
      case "logging/setLevel":
        return this.#setLevel(session, params["level"]);
      case "resources/subscribe":
        return this.#subscribe(session, params["uri"]);
      case "resources/unsubscribe":
        return this.#unsubscribe(session, params["uri"]);
      default:
        return { status: 200, code: RPC.methodNotFound, message: "Method not found" };
    }
  }

  #setLevel(session: Session, level: unknown): Json | Fault {
    const index = LOG_LEVELS.indexOf(String(level));
    if (index < 0) return invalid(`params.level must be one of ${LOG_LEVELS.join(", ")}.`);
    session.logLevel = index;
    this.#onLogLevel();
    return {};
  }

  async #subscribe(session: Session, uri: unknown): Promise<Json | Fault> {
    if (typeof uri !== "string") return invalid("params.uri must be the URI of a resource.");
    return (await this.#subscriptions.add(session, uri)) ?? {};
  }

  #unsubscribe(session: Session, uri: unknown): Json | Fault {
    if (typeof uri !== "string") return invalid("params.uri must be the URI of a resource.");
    this.#subscriptions.remove(session, uri);
    return {};
  }

  /** Notifications and responses: nothing goes back. */
  #oneWay(session: Session, message: Exclude<Message, { kind: "request" }>): void {
    if (message.kind === "response") return settleAsk(session, message);
    if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      if (typeof id === "string" || typeof id === "number") session.calls?.get(id)?.cancel();
    } else if (message.method === "notifications/roots/list_changed") {
      for (const provider of this.#context.view.providers) provider.rootsChanged();
    }
  }
}

/** Tells a session which lists changed, now or as soon as it has a stream. */
export function tellChanges(session: Session): void {
  const { stream } = session;
  if (session.changed === 0 || !stream?.open) return;
  for (const [list, bit] of Object.entries(CHANGED)) {
    if ((session.changed & bit) !== 0)
      stream.send(notification(`notifications/${list}/list_changed`, undefined));
  }
  session.changed = 0;
}

function sessionFault(
  given: string | undefined,
  session: Session | undefined,
  version: string | undefined,
): Fault {
  if (given === undefined) {
    return {
      status: 400,
      code: RPC.server,
      message: "The Mcp-Session-Id header is missing: send initialize first.",
    };
  }
  if (session === undefined)
    return {
      status: 404,
      code: RPC.sessionNotFound,
      message: "Session not found: send initialize again.",
    };
  return {
    status: 400,
    code: RPC.server,
    message: `Unsupported protocol version ${String(version).slice(0, 64)} (supported: ${LEGACY_VERSIONS.join(", ")}).`,
  };
}

function batchFault(session: Session, messages: readonly Message[]): Fault | undefined {
  const refuse = (message: string): Fault => ({ status: 400, code: RPC.invalidRequest, message });
  if (session.version >= "2025-06-18")
    return refuse(`Protocol version ${session.version} has no JSON-RPC batches.`);
  if (messages.length > MAX_BATCH) return refuse(`A batch may have ${MAX_BATCH} messages.`);
  if (messages.some((message) => message.kind === "request" && message.method === "initialize")) {
    return refuse("initialize cannot be part of a batch.");
  }
  return undefined;
}
