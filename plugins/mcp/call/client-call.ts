import type { IncomingHttpHeaders } from "node:http";
import {
  Answer,
  type Call,
  type CallMethod,
  type GatewayError,
  type Json,
  type Peer,
  type Principal,
  type Progress,
  type Server,
  toGatewayError,
} from "propylon";
import { Cancellation, addSignal, isObject } from "propylon/kit";
import {
  type Era,
  type CallRunner,
  type RpcId,
  severityOf,
  adoptTrace,
  answerInputs,
  toRpcError,
  LITERAL_PROGRESS,
} from "propylon/internal";
import { faultPieces } from "../message/stream.ts";
import type { EndpointContext } from "../view/context.ts";
import { type Forward, isFault, otherMeta } from "../view/forward.ts";
import { type Fault, RPC } from "../message/protocol.ts";
import { type Reply, type ReplyOwner, notification } from "../message/reply.ts";

/**
 * Makes progress values of one token strictly increasing, which MCP demands ("MUST increase") and upstreams break.
 *
 * A value that does not increase is dropped, unless it carries a message: then it is moved up by the smallest useful
 * step, since the message is news even if the number is not.
 */
export class ProgressOrder {
  #last = Number.NEGATIVE_INFINITY;

  /** The report as it may be sent, or `undefined` to drop it. */
  admit(report: Progress): Progress | undefined {
    const { progress } = report;
    if (!Number.isFinite(progress)) return undefined;
    if (report[LITERAL_PROGRESS] === true) return report;
    if (progress > this.#last) {
      this.#last = progress;
      return report;
    }
    const bumped = this.#last + Math.max(Math.abs(this.#last), 1) * 1e-9;
    if (report.message === undefined || report.message === null || !Number.isFinite(bumped))
      return undefined;
    this.#last = bumped;
    const { total } = report;
    // `total == progress` marks the end of a part, and an end that is moved stays one.
    const isEnd = typeof total === "number" && progress >= total;
    return { ...report, progress: bumped, ...(isEnd && { total: bumped }) };
  }
}

/** A request on its way to a server, as its client sent it. */
export interface ClientRequest {
  readonly id: RpcId;
  readonly method: CallMethod;
  readonly params: Json;
  readonly principal: Principal;
  /** Of the HTTP request it came in; only its trace context is read. */
  readonly headers: IncomingHttpHeaders;
}

/** One call of one client: its way back, its cancellation, and the {@link Peer} that the callee talks to. */
export abstract class ClientCall implements Peer, ReplyOwner {
  abstract readonly key: string;
  abstract readonly capabilities: Json;
  abstract readonly logLevel: string | undefined;
  /** The client's id for the response. */
  id: RpcId;
  protected readonly context: EndpointContext;
  protected readonly method: CallMethod;
  protected reply: Reply | undefined;
  protected done = false;
  protected readonly runner: CallRunner;
  #server: Server | undefined;
  readonly #cancellation = new Cancellation();
  #token: string | number | undefined;
  #order: ProgressOrder | undefined;
  /** Ends its stay in flight while its client is asked, when it is not in any pipeline. */
  #unhold: (() => void) | undefined;

  constructor(context: EndpointContext, reply: Reply, request: ClientRequest) {
    this.context = context;
    this.runner = context.host.current;
    this.id = request.id;
    this.method = request.method;
    this.attach(reply, request);
  }

  abstract ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json>;

  /** Writes an answer to the client in the form of its era. */
  protected abstract write(answer: Answer): void;

  /** What happens with the first answer. */
  protected finish(_call: Call, answer: Answer): Promise<void> | undefined {
    this.write(answer);
    return undefined;
  }

  /** Takes over the way back, with the id and progress token that belong to it. */
  protected attach(reply: Reply, { id, params }: { id: RpcId; params: Json }): void {
    this.reply = reply;
    reply.owner = this;
    this.id = id;
    const meta = params["_meta"];
    const token = isObject(meta) ? meta["progressToken"] : undefined;
    this.#token = typeof token === "string" || typeof token === "number" ? token : undefined;
    this.#order = undefined;
  }

  /** Gives up the way back without ending the call. */
  protected detach(): void {
    if (this.reply !== undefined) this.reply.owner = undefined;
    this.reply = undefined;
  }

  /** Starts the call once somebody has what it names; see `EarlyCalls`. Never throws. */
  async runEarly(request: ClientRequest, find: () => Forward | Fault): Promise<void> {
    const cancellation = this.#cancellation;
    const { reply } = this;
    // What has not begun leaves nothing half done.
    if (reply) reply.owner = { gone: () => this.cancel() };
    const { early } = this.context;
    const outcome = await early.wait({ principal: request.principal, cancellation, find });
    if (reply) reply.owner = this;
    if (!cancellation.aborted && !isFault(outcome)) return this.run(request, outcome);
    if (isFault(outcome)) this.reply?.end(faultPieces(outcome, this.id));
    this.#end();
  }

  /** Starts the call; its end reaches the client. Never throws. */
  run({ params, principal, headers }: ClientRequest, forward: Forward): void {
    this.#server = forward.route.server;
    const call: Call = addSignal({
      id: this.context.nextCallId(),
      method: this.method,
      source: "mcp" as const,
      endpoint: this.context.name,
      server: forward.route.server.name,
      name: forward.route.name,
      tool: forward.route.tool,
      args: forward.args,
      params: forward.params,
      meta: adoptTrace(otherMeta(params["_meta"]), headers),
      principal,
      timeout: undefined,
      cancellation: this.#cancellation,
      progress: this.wantsProgress ? (report: Progress) => this.onProgress(report) : undefined,
      peer: this,
    });
    this.runner.call(call).then(
      (answer) => this.#onAnswer(call, answer),
      (thrown: unknown) => this.#onFailure(thrown),
    );
  }

  #onAnswer(call: Call, answer: Answer): void {
    try {
      const more = this.finish(call, answer);
      if (more === undefined) this.#end();
      else
        more.then(
          () => this.#end(),
          (thrown: unknown) => this.#onFailure(thrown),
        );
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }

  #onFailure(thrown: unknown): void {
    this.fail(toGatewayError(thrown));
    this.#end();
  }

  #end(): void {
    this.done = true;
    this.#unhold?.();
    this.release();
  }

  /** Asks the client what the callee asks in place of an answer, and calls again, until there is one. */
  protected async fetchInputs(call: Call, answer: Answer): Promise<Answer> {
    const { context, runner } = this;
    this.#unhold = runner.hold({
      slot: -1,
      principal: call.principal,
      abort: (reason) => this.interrupt(reason),
    });
    return answerInputs(call, answer, (next) => runner.call({ ...next, id: context.nextCallId() }));
  }

  /** Lets go of what the call held; runs once, at its end. */
  protected release(): void {}

  /** The connection broke before the answer. */
  gone(): void {
    this.abandon();
  }

  /** Nobody wants the answer any more. */
  protected abandon(): void {
    this.reply = undefined;
    this.#cancellation.abort();
  }

  /** Aborts what runs, without giving up the way back: the client gets the reason. */
  protected interrupt(reason: unknown): void {
    this.#cancellation.abort(reason);
  }

  /** Ends the call early: without an answer when the client wants none any more, else with the reason. */
  cancel(reason?: string): void {
    const { reply } = this;
    this.abandon();
    if (reason === undefined) reply?.drop();
    else reply?.end(faultPieces({ code: RPC.server, message: reason }, this.id));
  }

  tell(method: string, params: Json | undefined): void {
    if (this.done || (method === "notifications/message" && !this.#wantsLog(params))) return;
    this.reply?.event(notification(method, this.paramsOf(params)));
  }

  /** The parameters of a notification in the form of the client's era. */
  protected paramsOf(params: Json | undefined): Json | undefined {
    return params;
  }

  /** Era of the server, if it has one. */
  protected get callee(): Era | undefined {
    return this.#server?.status.era;
  }

  get congested(): boolean {
    return this.reply?.congested ?? false;
  }

  whenClear(resume: () => void): void {
    if (this.reply === undefined) resume();
    else this.reply.whenClear(resume);
  }

  /** Answers with an error of the gateway. */
  protected fail(error: GatewayError): void {
    if (error.code === "internal")
      this.context.host.log.error(
        { err: error.cause ?? error, endpoint: this.context.name },
        "call failed",
      );
    const { reply } = this;
    if (reply === undefined) return;
    const { code, message, data } = toRpcError(error);
    if (error.code === "invalid" && this.method === "tools/call")
      this.write(Answer.failed(message));
    // A denial with headers (WWW-Authenticate) is for the client's HTTP layer, e.g. to ask for another scope.
    else reply.end(faultPieces({ code, message, data }, this.id), statusOf(error), error.headers);
  }

  /** Whether anybody is told of progress. */
  protected get wantsProgress(): boolean {
    return this.#token !== undefined;
  }

  protected onProgress(report: Progress): void {
    const token = this.#token;
    if (token === undefined || this.reply === undefined || this.done) return;
    this.#order ??= new ProgressOrder();
    const admitted = this.#order.admit(report);
    if (admitted !== undefined)
      this.reply.event(
        notification("notifications/progress", {
          ...this.paramsOf(admitted),
          progressToken: token,
        }),
        true,
      );
  }

  #wantsLog(params: Json | undefined): boolean {
    const least = this.logLevel;
    if (least === undefined) return false;
    return severityOf(params?.["level"]) >= severityOf(least);
  }
}

function statusOf(error: GatewayError): number {
  if (error.code === "draining") return 503;
  // 429 or 503 would reach an agent as a broken transport, without the data that says when to try again.
  return error.headers?.["www-authenticate"] === undefined ? 200 : error.status;
}
