import type { IncomingMessage, ServerResponse } from "node:http";
import type { Json, Principal } from "../types.ts";
import type { EndpointContext } from "./context.ts";
import type { Message, Request } from "./envelope.ts";
import { invalid, isCallMethod, toForward } from "./forward.ts";
import { checkParamHeaders, checkStandardHeaders, paramHeaders } from "./headers.ts";
import { HeldCalls } from "./held.ts";
import type { ListMethod } from "./list.ts";
import { LIST_KEY } from "./list.ts";
import type { Listeners } from "./listen.ts";
import { ModernCall } from "./modern-call.ts";
import type { Fault } from "./protocol.ts";
import { isObject, META_SERVER_INFO, MODERN_VERSIONS, RPC } from "./protocol.ts";
import type { Accepts } from "./reply.ts";
import { faultPieces, HttpReply, resultPieces, sendFault } from "./reply.ts";

const METHOD_NOT_FOUND: Fault = {
  status: 404,
  code: RPC.methodNotFound,
  message: "Method not found",
};

/** Revision 2026-07-28: no handshake, no sessions; every request stands for itself. */
export class ModernFace {
  readonly #context: EndpointContext;
  readonly #listeners: Listeners;
  readonly #held = new HeldCalls();

  constructor(context: EndpointContext, listeners: Listeners) {
    this.#context = context;
    this.#listeners = listeners;
  }

  /** Serves one posted message. */
  post(
    message: Message,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    if (message.kind !== "request") {
      // Nothing a stateless client can notify of concerns us: it cancels by closing the stream.
      res.writeHead(202).end();
      return;
    }
    const fault = checkStandardHeaders(message, req.headers);
    if (fault !== undefined) return sendFault(res, fault, message.id);
    const { settling } = this.#context;
    if (settling === undefined) this.#serve(message, req, res, principal, accepts);
    else void settling.then(() => this.#serve(message, req, res, principal, accepts));
  }

  /** Aborts what is held. */
  close(): void {
    this.#held.close();
  }

  #serve(
    request: Request,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    const { method, id } = request;
    if (isCallMethod(method)) return this.#call(request, req, res, principal, accepts);
    if (method === "subscriptions/listen") return this.#listeners.open(request, res, accepts);
    const reply = new HttpReply(res, accepts, this.#context.streams);
    if (method === "server/discover") return reply.end(resultPieces(this.#discover(), id));
    if (!Object.hasOwn(LIST_KEY, method) || !this.#declares(method as ListMethod)) {
      return reply.end(faultPieces(METHOD_NOT_FOUND, id), METHOD_NOT_FOUND.status);
    }
    if (request.params?.["cursor"] !== undefined)
      return reply.end(faultPieces(invalid("Unknown cursor: lists come in one page."), id));
    reply.end(
      this.#context.view.lists[method as ListMethod].encode(
        id,
        "modern",
        this.#context.host.serverInfo,
      ),
    );
  }

  /** A list that discovery does not announce does not exist. */
  #declares(method: ListMethod): boolean {
    return this.#context.view.capabilities[method.slice(0, method.indexOf("/"))] !== undefined;
  }

  #discover(): Json {
    const { capabilities, instructions } = this.#context.view;
    return {
      supportedVersions: [...MODERN_VERSIONS],
      capabilities,
      ...(instructions !== undefined && { instructions }),
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: { [META_SERVER_INFO]: this.#context.host.serverInfo },
    };
  }

  #call(
    { id, method, params = {} }: Request,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    if (!isCallMethod(method)) return;
    const forward = toForward(this.#context.view, method, params);
    const fault =
      "code" in forward
        ? modernFault(forward)
        : this.#checkCall(
            forward.route.tool &&
              checkParamHeaders(paramHeaders(forward.route.tool), forward.args, req.headers),
            params,
          );
    if (fault !== undefined || "code" in forward) return sendFault(res, fault as Fault, id);
    const reply = new HttpReply(res, accepts, this.#context.streams);
    const request = { id, method, params, principal };
    const state = params["requestState"];
    if (!this.#held.owns(state)) {
      void new ModernCall(this.#context, reply, request, forward, this.#held).run(request, forward);
      return;
    }
    const held = this.#held.take(state, (call) => call.matches(request));
    if (held === undefined)
      reply.end(
        faultPieces(
          invalid("params.requestState is unknown or has expired: send the request anew."),
          id,
        ),
      );
    else held.resume(reply, request);
  }

  #checkCall(
    headers: Fault | undefined,
    { inputResponses, requestState }: Json,
  ): Fault | undefined {
    if (headers !== undefined) return headers;
    if (requestState !== undefined && typeof requestState !== "string")
      return invalid("params.requestState must be a string.");
    if (inputResponses === undefined) return undefined;
    const valid = isObject(inputResponses) && Object.values(inputResponses).every(isObject);
    return valid
      ? undefined
      : invalid("params.inputResponses must map each key to the result object of its request.");
  }
}

/** 2026-07-28 has one code for everything that is not there. */
function modernFault(fault: Fault): Fault {
  return fault.code === RPC.resourceNotFound ? { ...fault, code: RPC.invalidParams } : fault;
}
