import type { IncomingMessage, ServerResponse } from "node:http";
import { type Principal, toGatewayError } from "propylon";
import { parseJson } from "propylon/kit";
import {
  type Era,
  type EndpointContent,
  type EndpointHost,
  type NodeHandler,
  takeBody,
} from "propylon/internal";
import { EndpointContext } from "../view/context.ts";
import {
  type ClientMessage,
  type Request,
  classify,
  headerValue,
  readableId,
  readClientMessage,
} from "../message/client-message.ts";
import { LegacyFace } from "./legacy.ts";
import { EndpointState } from "./endpoint-state.ts";
import { ModernFace } from "./modern.ts";
import { sendPage } from "./page.ts";
import {
  type Fault,
  closedFault,
  CREDENTIAL_GONE,
  DRAINING,
  isModernVersion,
  RPC,
} from "../message/protocol.ts";
import { type Accepts, readAccept, sendFault } from "../message/reply.ts";

/**
 * One MCP endpoint towards clients, both eras on one path. It outlives reloads: sessions and
 * streams stay, {@link Endpoint.update} only changes what is shown.
 */
export class Endpoint {
  readonly handle: NodeHandler;
  readonly #context: EndpointContext;
  readonly #legacy: LegacyFace;
  readonly #modern: ModernFace;
  readonly #live: EndpointState;

  constructor(name: string, host: EndpointHost) {
    this.#context = new EndpointContext(name, host);
    this.#live = new EndpointState(this.#context);
    this.#legacy = new LegacyFace(this.#context, this.#live);
    this.#modern = new ModernFace(this.#context, this.#live.listeners);
    this.handle = (req, res, principal) => this.#handle(req, res, principal);
  }

  /** Changes what is shown: before serving, and with every reload. */
  update(content: EndpointContent): void {
    this.#live.show(content);
  }

  /** Rebuilds the lists, because a filter changed its answers. */
  relist(): void {
    this.#live.refilter();
  }

  /** What is left out of the lists and why, as sentences. */
  get problems(): readonly string[] {
    return this.#context.views.base.problems;
  }

  /** What a tool of a server is called here, for a principal; `undefined` when it is not here. */
  nameOf(server: string, tool: string, principal: Principal): string | undefined {
    return this.#context.views.of(principal).nameOf("tool", { server, name: tool });
  }

  /** Open legacy sessions. */
  get sessionCount(): number {
    return this.#live.sessions.size;
  }

  /** Ends the sessions that matching principals opened; tells how many that were. */
  revoke(match: (principal: Principal) => boolean): number {
    return this.#live.sessions.revoke(match);
  }

  /** Ends all sessions, streams and held calls. Calls of connected clients are cancelled. */
  close(): void {
    this.#context.closed = true;
    this.#modern.close();
    this.#live.close();
  }

  #handle(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    switch (req.method) {
      case "POST":
        this.#post(req, res, principal);
        break;
      case "GET":
        this.#get(req, res, principal);
        break;
      case "DELETE":
        if (isStateless(req)) sendFault(res, METHOD_NOT_ALLOWED, null, { Allow: "POST" });
        else this.#legacy.delete(req, res, principal);
        break;
      default:
        sendFault(res, METHOD_NOT_ALLOWED, null, { Allow: "GET, POST, DELETE" });
    }
  }

  #post(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const accepts = readAccept(req.headers.accept);
    const fault = headFault(req, accepts);
    // Read in any case: a refused body left on the socket would be taken for the next request.
    takeBody(req, this.#context.host.limits.body, {
      body: (body) => {
        if (fault !== undefined) return sendFault(res, fault, null);
        try {
          this.#receive(body, req, res, principal, accepts);
        } catch (thrown) {
          this.#refuse(res, thrown);
        }
      },
      failed: (error) => this.#refuse(res, error),
    });
  }

  #receive(
    body: Buffer,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    // A reload may remove the endpoint while a body is still coming in.
    if (this.#context.closed) return sendFault(res, closedFault(this.#context.host.draining), null);
    if (this.#context.host.leases.isWithdrawn(principal))
      return sendFault(res, CREDENTIAL_GONE, null);
    const value = parseJson(body, this.#context.host.limits.depth);
    const message = readClientMessage(value);
    if (Array.isArray(value)) return this.#batch(value, req, res, principal, accepts);
    if (message === undefined) return sendFault(res, NOT_A_MESSAGE, readableId(value));
    const era = classify(message, req.headers);
    const id = message.kind === "request" ? message.id : null;
    if (typeof era === "object") return sendFault(res, era, id);
    if (message.kind === "request" && this.#isRefused(message, era))
      return sendFault(res, DRAINING, id, { "Retry-After": "1" });
    const face = era === "modern" ? this.#modern : this.#legacy;
    face.post(message, req, res, principal, accepts);
  }

  /** While the gateway shuts down nothing new is begun; what a call in flight waits for is let in. */
  #isRefused(request: Request, era: Era): boolean {
    if (!this.#context.host.draining) return false;
    return era === "legacy" || !this.#modern.isAwaited(request);
  }

  #batch(
    values: readonly unknown[],
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    const messages = values.map(readClientMessage).filter(isLegacy);
    if (values.length === 0 || messages.length < values.length)
      return sendFault(res, NOT_A_BATCH, null);
    if (this.#context.host.draining && messages.some(({ kind }) => kind === "request"))
      return sendFault(res, DRAINING, null, { "Retry-After": "1" });
    this.#legacy.batch(messages, req, res, principal, accepts);
  }

  #get(req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const accept = req.headers.accept ?? "";
    if (accept.includes("text/event-stream")) {
      if (this.#context.host.draining)
        return sendFault(res, DRAINING, null, { "Retry-After": "1" });
      if (isStateless(req)) return sendFault(res, METHOD_NOT_ALLOWED, null, { Allow: "POST" });
      return this.#legacy.get(req, res, principal);
    }
    if (accept.includes("text/html"))
      return sendPage(
        res,
        this.#context.name,
        this.#context.views.of(principal).lists["tools/list"].size,
      );
    sendFault(
      res,
      {
        status: 406,
        code: RPC.server,
        message: "GET opens an event stream: send Accept: text/event-stream.",
      },
      null,
    );
  }

  #refuse(res: ServerResponse, thrown: unknown): void {
    const error = toGatewayError(thrown);
    if (error.code === "internal")
      this.#context.host.log.error({ err: error.cause ?? error }, "request failed");
    const code =
      error.code === "bad_request"
        ? RPC.parse
        : error.code === "internal"
          ? RPC.internal
          : RPC.server;
    sendFault(res, { status: error.status, code, message: error.message }, null);
  }
}

const METHOD_NOT_ALLOWED: Fault = { status: 405, code: RPC.server, message: "Method not allowed." };
const NOT_A_MESSAGE: Fault = {
  status: 400,
  code: RPC.invalidRequest,
  message: "The body is not a JSON-RPC 2.0 message.",
};
const NOT_A_BATCH: Fault = {
  status: 400,
  code: RPC.invalidRequest,
  message: "The body is not a batch of JSON-RPC 2.0 messages of a revision that has batches.",
};

/** What is wrong with the head of a POST, if anything. */
function headFault({ headers }: IncomingMessage, accepts: Accepts): Fault | undefined {
  const type = headers["content-type"];
  if (type === undefined || !/^application\/json\s*(;|$)/i.test(type)) {
    return { status: 415, code: RPC.server, message: "The Content-Type must be application/json." };
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    return {
      status: 415,
      code: RPC.server,
      message: "Compressed request bodies are not accepted.",
    };
  }
  if (!accepts.json && !accepts.events) {
    return {
      status: 406,
      code: RPC.server,
      message: "The client must accept application/json and text/event-stream.",
    };
  }
  return undefined;
}

function isLegacy(message: ClientMessage | undefined): message is ClientMessage {
  return message !== undefined && classify(message, {}) === "legacy";
}

/** Whether a request without a body comes from a client of the stateless era, which has neither GET nor DELETE. */
function isStateless({ headers }: IncomingMessage): boolean {
  const version = headerValue(headers["mcp-protocol-version"]);
  return version !== undefined && isModernVersion(version);
}
