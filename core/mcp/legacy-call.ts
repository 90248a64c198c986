import { SEVERITIES } from "../severities.ts";
import type { Answer } from "../answer.ts";
import { GatewayError } from "../errors.ts";
import type { Call, Json } from "../types.ts";
import { answerInputs, needsInput } from "./bridge.ts";
import type { ClientRequest } from "./call.ts";
import { ClientCall } from "./call.ts";
import { missingCapability } from "./capabilities.ts";
import type { EndpointContext } from "./context.ts";
import type { Reply } from "./reply.ts";
import type { Cancellable, PendingAsk, Session } from "./session.ts";
import { askClient } from "./asks.ts";

/** A client that never set a level gets what people want to see, not the debug output. */
const DEFAULT_LOG_LEVEL = "info";

/** A call within a session. */
export class LegacyCall extends ClientCall implements Cancellable {
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

  async ask(method: string, params: Json | undefined): Promise<Json> {
    const missing = missingCapability(method, params, this.capabilities);
    if (missing !== undefined) {
      throw new GatewayError("invalid", `The client does not offer ${method}.`, {
        data: { requiredCapabilities: missing },
      });
    }
    if (this.done) throw new GatewayError("cancelled", "The call this request belongs to is over.");
    return askClient(this.#session, (this.#asks ??= new Map()), method, params, (message) =>
      this.#send(message),
    );
  }

  /** On the call's own stream; a client that takes no stream there may have one open beside it. */
  #send(message: string): boolean {
    return this.reply?.event(message) || this.#session.stream?.send(message) || false;
  }

  protected override finish(call: Call, answer: Answer): Promise<void> | undefined {
    const pieces = answer.encode(this.id);
    // Revisions before 2026-07-28 have no such answers, so those of their servers are not searched for one.
    if (!(answer.isRaw && this.callee === "legacy") && needsInput(answer, pieces))
      return this.#fetchInputs(call, answer);
    this.reply?.end(pieces);
    return undefined;
  }

  async #fetchInputs(call: Call, answer: Answer): Promise<void> {
    const { context } = this;
    this.write(
      await answerInputs(call, answer, (next) =>
        context.host.call({ ...next, id: context.nextCallId() }),
      ),
    );
  }

  protected override write(answer: Answer): void {
    this.reply?.end(answer.encode(this.id));
  }

  override gone(): void {
    super.gone();
    this.#rejectAsks();
  }

  protected override release(): void {
    this.#session.end(this);
    this.#rejectAsks();
  }

  #rejectAsks(): void {
    if (this.#asks === undefined) return;
    for (const [id, ask] of this.#asks) {
      this.#session.asks?.delete(id);
      ask.reject(new GatewayError("cancelled", "The client went away, or the call ended."));
    }
    this.#asks = undefined;
    if (this.#session.asks?.size === 0) this.#session.asks = undefined;
  }
}
