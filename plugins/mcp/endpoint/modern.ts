import { faultPieces } from "../message/stream.ts";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Json, Principal } from "propylon";
import { Cancellation } from "propylon/kit";
import { withTasks } from "propylon/internal";
import type { TaskPlan } from "../call/call-task.ts";
import type { ClientRequest } from "../call/client-call.ts";
import type { EndpointContext } from "../view/context.ts";
import {
  type ClientMessage,
  checkParamHeaders,
  checkStandardHeaders,
  knowsTasks,
  paramHeaders,
  type Request,
} from "../message/client-message.ts";
import {
  type CallRequest,
  type Forward,
  invalid,
  isCallRequest,
  isFault,
  toForward,
  responsesFault,
} from "../view/forward.ts";
import { ParkedCalls } from "../call/parked-calls.ts";
import type { RequestStates } from "../view/request-states.ts";
import { type ListMethod, isListMethod } from "../view/list.ts";
import type { Listeners } from "./listen.ts";
import { ModernCall } from "../call/modern-call.ts";
import { type Fault, META_SERVER_INFO, MODERN_VERSIONS, RPC } from "../message/protocol.ts";
import {
  type Accepts,
  type Reply,
  HttpReply,
  resultPieces,
  sendEmpty,
  sendFault,
} from "../message/reply.ts";
import { NEEDS_TASKS, TaskMethods } from "../call/task-methods.ts";
import type { View } from "../view/view.ts";

const METHOD_NOT_FOUND: Fault = {
  status: 404,
  code: RPC.methodNotFound,
  message: "Method not found",
};

/** Revision 2026-07-28: no handshake, no sessions; every request stands for itself. */
export class ModernFace {
  readonly #context: EndpointContext;
  readonly #listeners: Listeners;
  readonly #held = new ParkedCalls<ModernCall>();
  readonly #taskMethods: TaskMethods;

  constructor(context: EndpointContext, listeners: Listeners) {
    this.#context = context;
    this.#listeners = listeners;
    this.#taskMethods = new TaskMethods(context);
  }

  /** Serves one posted message. */
  post(
    message: ClientMessage,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    if (message.kind !== "request") {
      // Nothing a stateless client can notify of concerns us: it cancels by closing the stream.
      sendEmpty(res, 202);
      return;
    }
    const fault = checkStandardHeaders(message, req.headers);
    if (fault !== undefined) return sendFault(res, fault, message.id);
    if (isCallRequest(message)) this.#call(message, req, res, principal, accepts);
    else if (message.method === "subscriptions/listen")
      this.#listeners.open(message, res, accepts, principal);
    else {
      const reply = new HttpReply(res, accepts, this.#context.streams);
      if (this.#taskMethods.serves(message))
        void this.#taskMethods.serve(message, principal, reply);
      else void this.#describe(message, principal, reply);
    }
  }

  /** Whether a request is the answer that a call in flight waits for. */
  isAwaited(request: Request): boolean {
    return this.#held.isOpen(request.params?.["requestState"]) || this.#taskMethods.serves(request);
  }

  /** Aborts what is held. */
  close(): void {
    this.#held.close();
  }

  /** Answers from what the endpoint shows, without a server. */
  async #describe(
    { id, method, params }: Request,
    principal: Principal,
    reply: Reply,
  ): Promise<void> {
    if (this.#context.settling !== undefined) {
      await this.#context.settling;
      const fault = this.#context.faultAfterWait(principal);
      if (fault !== undefined) return reply.end(faultPieces(fault, id), fault.status);
    }
    const { views, host } = this.#context;
    const view = views.of(principal);
    if (method === "server/discover") return reply.end(resultPieces(this.#discover(view), id));
    if (!isListMethod(method) || !declares(view, method)) {
      return reply.end(faultPieces(METHOD_NOT_FOUND, id), METHOD_NOT_FOUND.status);
    }
    if (params?.["cursor"] !== undefined) {
      return reply.end(faultPieces(invalid("Unknown cursor: lists come in one page."), id));
    }
    reply.end(view.lists[method].encode(id, "modern", host.serverInfo));
  }

  #discover({ capabilities, instructions }: View): Json {
    return {
      supportedVersions: [...MODERN_VERSIONS],
      capabilities: this.#context.tasks ? withTasks(capabilities) : capabilities,
      ...(instructions !== undefined && { instructions }),
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: { [META_SERVER_INFO]: this.#context.host.serverInfo },
    };
  }

  #call(
    request: CallRequest,
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal,
    accepts: Accepts,
  ): void {
    const { id, method, params = {} } = request;
    const reply = new HttpReply(res, accepts, this.#context.streams);
    const call = { id, method, params, principal, headers: req.headers };
    const find = (): Forward | Fault =>
      toForward(this.#context.views.of(principal), method, params, principal);
    const forward = find();
    if (isFault(forward) && this.#context.early.concerns(forward))
      void this.#wait(call, find, reply);
    else this.#begin(call, forward, reply);
  }

  /** A stateless client cancels by closing the stream. */
  async #wait(request: ClientRequest, find: () => Forward | Fault, reply: Reply): Promise<void> {
    const cancellation = new Cancellation();
    reply.owner = { gone: () => cancellation.abort() };
    const { principal } = request;
    const outcome = await this.#context.early.wait({ principal, cancellation, find });
    if (!cancellation.aborted) this.#begin(request, outcome, reply);
  }

  #begin(request: ClientRequest, forward: Forward | Fault, reply: Reply): void {
    const fault = isFault(forward)
      ? modernFault(forward)
      : (headersFault(forward, request.headers) ?? inputFault(request.params));
    if (fault !== undefined) reply.end(faultPieces(fault, request.id), fault.status);
    else this.#start(request, forward as Forward, reply);
  }

  /** Starts a call, or goes on with the one that the client's `requestState` names. */
  #start(request: ClientRequest, forward: Forward, reply: Reply): void {
    const state = request.params["requestState"];
    if (state !== undefined && this.#held.owns(state)) {
      const held = this.#held.take(state, (call) => call.matches(request));
      if (held !== undefined) return held.resume(reply, request, this.#planOf(request, forward));
      return reply.end(faultPieces(UNKNOWN_STATE, request.id));
    }
    const own = withOwnState(forward, request, this.#context.requestStates);
    if (own === undefined) return reply.end(faultPieces(UNKNOWN_STATE, request.id));
    const { tasks } = this.#context;
    if (tasks?.hasRequired && this.#needsTasks(request, own))
      return reply.end(faultPieces(NEEDS_TASKS, request.id), NEEDS_TASKS.status);
    const call = new ModernCall(this.#context, reply, request, own, this.#held);
    const plan = tasks && this.#planOf(request, own);
    if (plan) void call.mayBecomeTask(plan).then(() => call.run(request, own));
    else call.run(request, own);
  }

  /** When a call becomes a task; `undefined` for a client that does not know them, and a tool that has none. */
  #planOf({ method, params, principal }: ClientRequest, forward: Forward): TaskPlan | undefined {
    const { tasks } = this.#context;
    if (!tasks || method !== "tools/call" || !knowsTasks(params)) return undefined;
    const { after } = tasks.ruleOf(forward.route.server.name, forward.route.name);
    return after === undefined ? undefined : { tasks, forward, principal, after };
  }

  #needsTasks({ method, params }: ClientRequest, { route }: Forward): boolean {
    if (method !== "tools/call" || knowsTasks(params)) return false;
    return this.#context.tasks!.ruleOf(route.server.name, route.name).isRequired;
  }
}

/** A list that discovery does not announce does not exist. */
function declares({ capabilities }: View, method: ListMethod): boolean {
  return capabilities[method.slice(0, method.indexOf("/"))] !== undefined;
}

function headersFault({ route, args }: Forward, headers: IncomingHttpHeaders): Fault | undefined {
  return route.tool && checkParamHeaders(paramHeaders(route.tool), args, headers);
}

function inputFault({ inputResponses, requestState }: Json): Fault | undefined {
  if (requestState !== undefined && typeof requestState !== "string") {
    return invalid("params.requestState must be a string.");
  }
  return inputResponses === undefined ? undefined : responsesFault(inputResponses);
}

const UNKNOWN_STATE = invalid(
  "params.requestState is unknown or has expired: send the request again.",
);

/** What goes to the server has its own state; `undefined` when that was given to somebody else, or for another request. */
function withOwnState(
  forward: Forward,
  request: ClientRequest,
  states: RequestStates,
): Forward | undefined {
  const bound = forward.params?.["requestState"];
  if (typeof bound !== "string") return forward;
  const requestState = states.unbind(bound, { ...request, route: forward.route });
  return requestState === undefined
    ? undefined
    : { ...forward, params: { ...forward.params, requestState } };
}

/** 2026-07-28 has one code for everything that is not there. */
function modernFault(fault: Fault): Fault {
  return fault.code === RPC.resourceNotFound ? { ...fault, code: RPC.invalidParams } : fault;
}
