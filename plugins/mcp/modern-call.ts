import { faultPieces } from "./stream.ts";
import { randomUUID } from "node:crypto";
import type { Answer, Era, GatewayError, Json } from "propylon";
import { SEVERITIES, isObject } from "propylon/kit";
import { CALL_OVER, notOffered, tooManyAsks, WENT_AWAY, WITHDRAWN } from "./asks.ts";
import { type ClientRequest, ClientCall } from "./client-call.ts";
import { missingCapability } from "./capabilities.ts";
import type { EndpointContext } from "./context.ts";
import type { Forward } from "./forward.ts";
import type { ParkedAsk, ParkedCalls } from "./parked-calls.ts";
import type { StateOwner } from "./request-states.ts";
import { META_CAPABILITIES, META_LOG_LEVEL, META_SERVER_INFO, RPC } from "./protocol.ts";
import { type Reply, resultPieces } from "./reply.ts";
import { encodeModern } from "./result.ts";

/** A call of a stateless client. It may span several requests: while it waits for the client's input it is held. */
export class ModernCall extends ClientCall {
  readonly era = "modern";
  readonly #held: ParkedCalls<ModernCall>;
  readonly #callee: Era | undefined;
  /** `ref` of who makes it. */
  readonly principal: string;
  readonly #owner: StateOwner;
  /** The tool, prompt or URI as the client names it. */
  readonly target: string;
  #meta: Json = {};
  #key: string | undefined;
  #asks: Map<string, ParkedAsk> | undefined;
  #asked = 0;
  #flush: NodeJS.Immediate | undefined;
  /** Capabilities the callee asked for and the client lacks. */
  #missing: unknown;
  #outcome: (() => void) | undefined;

  constructor(
    context: EndpointContext,
    reply: Reply,
    request: ClientRequest,
    forward: Forward,
    held: ParkedCalls<ModernCall>,
  ) {
    super(context, reply, request);
    this.#held = held;
    this.#callee = forward.route.server.status.era;
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
    const refusal = tooManyAsks(this.#asks?.size ?? 0);
    if (refusal) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const key = `input-${++this.#asked}`;
      (this.#asks ??= new Map()).set(key, { method, params, resolve, reject });
      // A stateless client that has the question already learns nothing; its answer is passed over.
      signal?.addEventListener("abort", () => this.#asks?.delete(key) && reject(WITHDRAWN));
      // What is asked in the same turn goes to the client in one round trip.
      this.#flush ??= setImmediate(() => this.#requireInput());
    });
  }

  /** Goes on with a held call on behalf of the client's retry. */
  resume(reply: Reply, request: ClientRequest): void {
    this.attach(reply, request);
    this.#readMeta(request.params);
    if (this.#outcome !== undefined) {
      this.#outcome();
      return;
    }
    this.#settleAsks(request.params["inputResponses"]);
    // What the client left out, and what the callee asked meanwhile, is asked (again).
    this.#requireInput();
  }

  #settleAsks(responses: unknown): void {
    for (const [key, response] of Object.entries(isObject(responses) ? responses : {})) {
      const ask = this.#asks?.get(key);
      if (ask === undefined || !isObject(response)) continue;
      this.#asks?.delete(key);
      ask.resolve(response);
    }
  }

  /** Answers `input_required` with everything asked so far and keeps the call running (docs/decisions/0004). */
  #requireInput(): void {
    this.#flush = undefined;
    const { reply } = this;
    // Without a way back the call is held already: the next retry gets the new questions.
    if (reply === undefined || this.#asks === undefined || this.#asks.size === 0) return;
    const entries = [...this.#asks].map(([key, { method, params }]) => [
      key,
      params === undefined ? { method } : { method, params },
    ]);
    const requestState = this.#held.hold(this);
    this.detach();
    const _meta = { [META_SERVER_INFO]: this.context.host.serverInfo };
    const inputRequests = Object.fromEntries(entries);
    const result = { resultType: "input_required", inputRequests, requestState, _meta };
    reply.end(resultPieces(result, this.id));
  }

  protected override write(answer: Answer): void {
    this.#give(() => this.#send(answer));
  }

  #send(answer: Answer): void {
    if (this.#missing !== undefined && (answer.isError || answer.error !== undefined))
      return this.#refuseCapability();
    const frame = {
      method: this.method,
      callee: this.#callee,
      serverInfo: this.context.host.serverInfo,
      bind: (state: string) => this.context.requestStates.bind(state, this.#owner),
    };
    const { pieces, status } = encodeModern(answer, this.id, frame);
    this.reply?.end(pieces, status);
  }

  protected override fail(error: GatewayError): void {
    this.#missing ??= error.data?.["requiredCapabilities"];
    this.#give(() => (this.#missing === undefined ? super.fail(error) : this.#refuseCapability()));
  }

  /** A callee that failed after asking for what the client cannot do has failed for that reason (-32021). */
  #refuseCapability(): void {
    const message = "The client lacks a capability that this request needs.";
    const fault = {
      code: RPC.missingCapability,
      message,
      data: { requiredCapabilities: this.#missing },
    };
    this.reply?.end(faultPieces(fault, this.id), 400);
  }

  /** Gives the outcome now, or keeps it for the retry when the call is held. */
  #give(outcome: () => void): void {
    if (this.reply === undefined && this.#held.has(this)) this.#outcome = outcome;
    else outcome();
  }

  protected override abandon(): void {
    super.abandon();
    this.#rejectAsks();
  }

  protected override release(): void {
    this.#rejectAsks();
  }

  #rejectAsks(): void {
    if (this.#flush !== undefined) clearImmediate(this.#flush);
    this.#flush = undefined;
    for (const ask of this.#asks?.values() ?? []) ask.reject(WENT_AWAY);
    this.#asks = undefined;
  }

  #readMeta({ _meta }: Json): void {
    if (isObject(_meta)) this.#meta = _meta;
  }
}

function targetOf(params: Json): string {
  const ref = params["ref"];
  return String(
    params["name"] ?? params["uri"] ?? (isObject(ref) ? (ref["name"] ?? ref["uri"]) : ""),
  );
}
