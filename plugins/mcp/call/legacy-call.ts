import type { Answer, Call, GatewayError, Json } from "propylon";
import {
  SEVERITIES,
  abortError,
  needsInput,
  missingCapability,
  notOffered,
} from "propylon/internal";
import type { Pieces } from "../message/stream.ts";
import { type ClientRequest, ClientCall } from "./client-call.ts";
import type { EndpointContext } from "../view/context.ts";
import { encodeLegacy, notification, type Reply, withoutModernMeta } from "../message/reply.ts";
import type { Cancellable, PendingAsk, Session } from "../session/session.ts";
import { askClient, CALL_OVER, WENT_AWAY } from "./asks.ts";

/** A client that never set a level gets what people want to see, not the debug output. */
const DEFAULT_LOG_LEVEL = "info";

/** A call within a session. */
export class LegacyCall extends ClientCall implements Cancellable {
  readonly era = "legacy";
  earlier: Cancellable | undefined = undefined;
  later: Cancellable | undefined = undefined;
  readonly #session: Session;
  #asks: Map<string, PendingAsk> | undefined;

  constructor(context: EndpointContext, reply: Reply, request: ClientRequest, session: Session) {
    super(context, reply, request);
    this.#session = session;
    session.begin(this);
  }

  get key(): string {
    return this.#session.key;
  }

  get capabilities(): Json {
    return this.#session.capabilities;
  }

  get logLevel(): string | undefined {
    return this.#session.logLevel < 0 ? DEFAULT_LOG_LEVEL : SEVERITIES[this.#session.logLevel];
  }

  async ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json> {
    const missing = missingCapability(method, params, this.capabilities);
    if (missing !== undefined) throw notOffered(method, missing);
    if (this.done) throw CALL_OVER;
    const { store } = this.context.host;
    return askClient(this.#session, (this.#asks ??= new Map()), {
      method,
      params,
      signal,
      replica: store.shared ? store.replica : undefined,
      send: (message) => this.#send(message),
    });
  }

  /** What a call sent its user to do in a browser may be done long after the call (2025-11-25, URL mode elicitation). */
  override tell(method: string, params: Json | undefined): void {
    if (this.done && method === "notifications/elicitation/complete")
      this.#session.stream?.send(notification(method, this.paramsOf(params)));
    else super.tell(method, params);
  }

  /** On the call's own stream; a client that takes no stream there may have one open beside it. */
  #send(message: string): boolean {
    const { stream } = this.#session;
    return this.reply?.event(message) || (stream?.open && stream.send(message)) || false;
  }

  protected override finish(call: Call, answer: Answer): Promise<void> | undefined {
    const pieces = answer.encode(this.id);
    // Revisions before 2026-07-28 have no such answers, so those of their servers are not searched for one.
    if (!(answer.isRaw && this.callee === "legacy") && needsInput(answer, pieces))
      return this.fetchInputs(call, answer).then((last) => this.write(last));
    this.#end(answer, pieces);
    return undefined;
  }

  protected override write(answer: Answer): void {
    this.#end(answer, answer.encode(this.id));
  }

  #end(answer: Answer, pieces: Pieces): void {
    this.reply?.end(this.callee === "legacy" ? pieces : encodeLegacy(answer, this.id, pieces));
  }

  protected override paramsOf(params: Json | undefined): Json | undefined {
    if (this.callee === "legacy" || params?.["_meta"] === undefined) return params;
    return { ...params, _meta: withoutModernMeta(params["_meta"]) };
  }

  /** A broken connection is not a cancellation (2025-11-25, "Sending Messages to the Server"): the call goes on. */
  override gone(): void {}

  protected override abandon(): void {
    super.abandon();
    this.#rejectAsks(WENT_AWAY);
  }

  protected override interrupt(reason: unknown): void {
    super.interrupt(reason);
    this.#rejectAsks(abortError({ reason }));
  }

  protected override release(): void {
    this.#session.end(this);
    this.#rejectAsks(WENT_AWAY);
  }

  #rejectAsks(error: GatewayError): void {
    if (this.#asks === undefined) return;
    for (const [id, ask] of this.#asks) {
      this.#session.asks?.delete(id);
      ask.reject(error);
    }
    this.#asks = undefined;
    if (this.#session.asks?.size === 0) this.#session.asks = undefined;
  }
}
