import { faultPieces } from "../message/stream.ts";
import { randomUUID } from "node:crypto";
import { Answer, type Call, type GatewayError, type Json, type Progress } from "propylon";
import { isObject } from "propylon/kit";
import {
  abortError,
  askableOf,
  missingCapability,
  needsInput,
  notOffered,
  OpenQuestions,
  SEVERITIES,
} from "propylon/internal";
import type { InputRequest, TaskHandle } from "propylon/plugins/tasks";
import { CALL_OVER, WENT_AWAY } from "./asks.ts";
import { CallTask, type TaskCall, type TaskPlan } from "./call-task.ts";
import { type ClientRequest, ClientCall } from "./client-call.ts";
import type { EndpointContext } from "../view/context.ts";
import type { Forward } from "../view/forward.ts";
import type { ParkedCalls } from "./parked-calls.ts";
import type { StateOwner } from "../view/request-states.ts";
import {
  type Fault,
  META_CAPABILITIES,
  META_LOG_LEVEL,
  META_SERVER_INFO,
  RPC,
} from "../message/protocol.ts";
import { encodeModern, type Reply, resultPieces } from "../message/reply.ts";
import { ownMeta, toWire } from "./task-form.ts";

/** A call of a stateless client. It may span several requests: while it waits for the client's input it is held. */
export class ModernCall extends ClientCall implements TaskCall {
  readonly era = "modern";
  readonly #held: ParkedCalls<ModernCall>;
  /** `ref` of who makes it. */
  readonly principal: string;
  readonly #owner: StateOwner;
  /** The tool, prompt or URI as the client names it. */
  readonly target: string;
  #meta: Json = {};
  #key: string | undefined;
  #questions: OpenQuestions | undefined;
  #flush: NodeJS.Immediate | undefined;
  /** Capabilities the callee asked for and the client lacks. */
  #missing: unknown;
  #outcome: (() => void) | undefined;
  /** Absent for a client that does not know tasks. */
  #later: CallTask | undefined;

  constructor(
    context: EndpointContext,
    reply: Reply,
    request: ClientRequest,
    forward: Forward,
    held: ParkedCalls<ModernCall>,
  ) {
    super(context, reply, request);
    this.#held = held;
    this.principal = request.principal.ref;
    this.#owner = { principal: request.principal, method: request.method, route: forward.route };
    this.target = targetOf(request.params);
    this.#readMeta(request.params);
  }

  get key(): string {
    return (this.#key ??= randomUUID());
  }

  get capabilities(): Json {
    const declared = this.#meta[META_CAPABILITIES];
    return isObject(declared) ? declared : {};
  }

  get logLevel(): string | undefined {
    const level = this.#meta[META_LOG_LEVEL];
    return typeof level === "string" && SEVERITIES.includes(level) ? level : undefined;
  }

  /** Whether a retry asks for the same thing as the request that was held. */
  matches({ method, params, principal }: ClientRequest): boolean {
    return (
      principal.ref === this.principal && method === this.method && targetOf(params) === this.target
    );
  }

  ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json> {
    const missing = missingCapability(method, params, this.capabilities);
    if (missing !== undefined) {
      this.#missing = isObject(this.#missing) ? { ...this.#missing, ...missing } : missing;
      return Promise.reject(notOffered(method, missing));
    }
    if (this.done) return Promise.reject(CALL_OVER);
    // A stateless client that has a question already learns nothing of its end; its answer is passed over.
    this.#questions ??= new OpenQuestions(() => this.#later?.ask());
    const answer = this.#questions.ask(method, params, signal);
    // What is asked in the same turn goes to the client in one round trip.
    this.#flush ??= setImmediate(() => this.#requireInput());
    return answer;
  }

  /** Its client knows tasks: it becomes one after a while. Resolves when it is one that is to be one at once, or cannot be. */
  async mayBecomeTask(plan: TaskPlan): Promise<void> {
    this.#later = new CallTask(this, plan);
    if (plan.after === 0) await this.#later.begin();
    else this.#later.start();
  }

  /** Goes on with a held call on behalf of the client's retry. */
  resume(reply: Reply, request: ClientRequest, plan: TaskPlan | undefined): void {
    this.attach(reply, request);
    if (plan) void this.mayBecomeTask(plan);
    this.#readMeta(request.params);
    if (this.#outcome !== undefined) {
      this.#outcome();
      return;
    }
    this.settle(request.params["inputResponses"]);
    // What the client left out, and what the callee asked meanwhile, is asked (again).
    this.#requireInput();
  }

  settle(responses: unknown): void {
    this.#questions?.settle(responses);
    this.#later?.ask();
  }

  get isWaiting(): boolean {
    return this.reply !== undefined && !this.done;
  }

  get questions(): OpenQuestions["open"] {
    return this.#questions?.open ?? NONE;
  }

  async keepTask(id: string): Promise<void> {
    await this.#later?.keep({ id, capabilities: askableOf(this.capabilities) });
  }

  announce(task: TaskHandle, pollInterval: number): void {
    const { serverInfo } = this.context.host;
    const frame = { pollInterval, serverInfo };
    const result = { resultType: "task", ...toWire(task, frame), _meta: ownMeta(serverInfo) };
    const { reply } = this;
    this.detach();
    reply?.end(resultPieces(result, this.id));
  }

  flush(): void {
    this.#requireInput();
  }

  override interrupt(reason: unknown): void {
    super.interrupt(reason);
    this.#rejectAsks(abortError({ reason }));
  }

  protected override get wantsProgress(): boolean {
    return this.#later !== undefined || super.wantsProgress;
  }

  protected override onProgress(report: Progress): void {
    this.#later?.report(report);
    super.onProgress(report);
  }

  protected override finish(call: Call, answer: Answer): Promise<void> | undefined {
    if (this.#later?.isTask && needsInput(answer))
      return this.fetchInputs(call, answer).then((last) => this.write(last));
    return super.finish(call, answer);
  }

  /** Answers `input_required` with everything asked so far and keeps the call running (docs/decisions/0004). */
  #requireInput(): void {
    this.#flush = undefined;
    if (this.#later?.takesQuestions) return this.#later.ask();
    const { reply } = this;
    // Without a way back the call is held already: the next retry gets the new questions.
    if (reply === undefined || this.questions.size === 0) return;
    const entries = [...this.questions].map(([key, ask]) => [key, toRequest(ask)]);
    this.#later?.stop();
    const requestState = this.#held.hold(this);
    this.detach();
    const _meta = { [META_SERVER_INFO]: this.context.host.serverInfo };
    const inputRequests = Object.fromEntries(entries);
    const result = { resultType: "input_required", inputRequests, requestState, _meta };
    reply.end(resultPieces(result, this.id));
  }

  protected override write(answer: Answer): void {
    if (this.#later?.isTask) this.#later.finish(answer);
    else this.#give(() => this.#send(answer));
  }

  #send(answer: Answer): void {
    if (this.#missing !== undefined && (answer.isError || answer.error !== undefined))
      return this.#refuseCapability();
    const frame = {
      method: this.method,
      callee: () => this.callee,
      serverInfo: this.context.host.serverInfo,
      bind: (state: string) => this.context.requestStates.bind(state, this.#owner),
    };
    const { pieces, status } = encodeModern(answer, this.id, frame);
    this.reply?.end(pieces, status);
  }

  protected override fail(error: GatewayError): void {
    this.#missing ??= error.data?.["requiredCapabilities"];
    if (this.#later?.isTask) {
      super.fail(error);
      this.#later.finish(this.#endOfTask(error));
    } else
      this.#give(() =>
        this.#missing === undefined ? super.fail(error) : this.#refuseCapability(),
      );
  }

  /** A task fails with what its call would have failed with. */
  #endOfTask(error: GatewayError): Answer | GatewayError {
    if (this.#missing !== undefined) return Answer.error(this.#lackOfCapability());
    return error.code === "invalid" ? Answer.failed(error.message) : error;
  }

  /** A callee that failed after asking for what the client cannot do has failed for that reason (-32021). */
  #refuseCapability(): void {
    this.reply?.end(faultPieces(this.#lackOfCapability(), this.id), 400);
  }

  #lackOfCapability(): Omit<Fault, "status"> {
    return {
      code: RPC.missingCapability,
      message: "The client lacks a capability that this request needs.",
      data: { requiredCapabilities: this.#missing },
    };
  }

  /** Gives the outcome now, or keeps it for the retry when the call is held. */
  #give(outcome: () => void): void {
    if (this.reply === undefined && this.#held.has(this)) this.#outcome = outcome;
    else outcome();
  }

  protected override abandon(): void {
    super.abandon();
    this.#rejectAsks(WENT_AWAY);
  }

  protected override release(): void {
    this.#later?.stop();
    this.#rejectAsks(WENT_AWAY);
  }

  #rejectAsks(error: GatewayError): void {
    if (this.#flush !== undefined) clearImmediate(this.#flush);
    this.#flush = undefined;
    this.#questions?.reject(error);
  }

  #readMeta({ _meta }: Json): void {
    if (isObject(_meta)) this.#meta = _meta;
  }
}

const NONE: OpenQuestions["open"] = new Map();

/** A question as its client gets it. */
function toRequest({ method, params }: InputRequest): Json {
  return params === undefined ? { method } : { method, params };
}

function targetOf(params: Json): string {
  const ref = params["ref"];
  return String(
    params["name"] ?? params["uri"] ?? (isObject(ref) ? (ref["name"] ?? ref["uri"]) : ""),
  );
}
