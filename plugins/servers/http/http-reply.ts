import { type GatewayError, toGatewayError, Answer } from "propylon";
import { Pieces, SseParser, type SseSink } from "propylon/internal";
import { isObject } from "propylon/kit";
import { type Exchange, holdBack } from "../wire/exchange.ts";
import { valueOf, valuesOf } from "../pool/http-parser.ts";
import type { RequestControl, ResponseReader } from "../pool/http-pool.ts";
import type { StreamHost } from "./http-stream.ts";
import { isFollowed, MAX_REDIRECTS, readRedirect } from "./redirect.ts";
import type { ServerRefusal } from "../service.ts";
import { isSessionLoss } from "../wire/session-loss.ts";
import type { Dialect } from "../wire/wire.ts";
import { parseMessage } from "../wire/message.ts";

/** Requests that only read. `tools/call` is as its tool says. */
const READS: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
  "resources/read",
  "prompts/get",
  "completion/complete",
  "server/discover",
  "tasks/get",
]);

/** Whether a request may run twice: it only reads, or its server says of the tool that a second time changes nothing. */
function mayRunTwice({ method, call }: Exchange): boolean {
  if (method !== "tools/call") return READS.has(method);
  const hints = call?.tool?.["annotations"];
  return isObject(hints) && (hints["readOnlyHint"] === true || hints["idempotentHint"] === true);
}

/** Ids of refusals of servers that did not look for the one of the request; the official Python SDK makes one up. */
const NAMELESS: ReadonlySet<unknown> = new Set([undefined, null, "", "server-error"]);

/** A JSON-RPC error that came with an HTTP status of failure. */
interface RpcRefusal {
  readonly id: unknown;
  readonly answer: Answer;
}

/** The JSON-RPC error in the body of a refusal, where there is one. */
function readRefusal(chunks: readonly Buffer[]): RpcRefusal | undefined {
  try {
    const message = parseMessage(chunks);
    if (!isObject(message) || !isObject(message["error"])) return undefined;
    const { code, message: sentence, data } = message["error"];
    if (typeof code !== "number") return undefined;
    const answer = Answer.error({
      code,
      message: typeof sentence === "string" ? sentence : "",
      ...(data !== undefined && { data }),
    });
    return { id: message["id"], answer };
  } catch {
    return undefined;
  }
}

/** Largest body of a refusal that is looked into for a JSON-RPC error. */
const MAX_REFUSAL = 64 * 1024;

/** The wire that a {@link ServerReply} is part of. */
export interface ReplyHost extends Omit<StreamHost, "plainHeaders" | "dispatch"> {
  readonly dialect: Dialect | undefined;
  /** The server opened a session. */
  open(session: string): void;
  linger(reply: ServerReply): void;
  ended(reply: ServerReply): void;
  resume(exchange: Exchange, lastEventId: string, retry: number | undefined): void;
  readonly hasAccount: boolean;
  /** Where requests go. */
  readonly href: string;
  /** Sends it again, and all that comes later, to this place of the origin. */
  follow(exchange: Exchange, target: URL): void;
  /** Sends it a second time, on a connection of its own. */
  again(exchange: Exchange): void;
  /** Whether a refusal that came on a kept connection is that of this request. If not, the next one of its name gets a new one. */
  confirms(exchange: Exchange, refusal: ServerRefusal, control: RequestControl): Promise<boolean>;
  /** Sends it again with other credentials, where there are any. */
  renew(exchange: Exchange, refusal: ServerRefusal): Promise<boolean>;
}

/** Reads the response to one POST: a JSON body, an event stream, or a refusal. */
export class ServerReply implements ResponseReader, SseSink {
  readonly #wire: ReplyHost;
  readonly #exchange: Exchange;
  /** Whether it went out as part of a session; other replies may have ended that meanwhile. */
  readonly #hadSession: boolean;
  slot = -1;
  /** From the first byte of the request on. */
  #control: RequestControl | undefined;
  #aborted = false;
  #status = 0;
  #retryAfter: string | undefined;
  #location: string | undefined;
  #challenge = "";
  readonly #authorization: string | undefined;
  #refusal: RpcRefusal | undefined;
  #sse: SseParser | undefined;
  readonly #body = new Pieces();

  constructor(wire: ReplyHost, exchange: Exchange, authorization: string | undefined) {
    this.#wire = wire;
    this.#exchange = exchange;
    this.#authorization = authorization;
    this.#hadSession = wire.session !== undefined;
  }

  /** Reads no further; the exchange is settled by another part. */
  abort(): void {
    this.#aborted = true;
    this.#control?.abort();
  }

  onRequestStart(control: RequestControl): void {
    this.#control = control;
    if (this.#aborted) this.abort();
  }

  onResponseStart(status: number, headers: readonly string[]): void {
    this.#status = status;
    if (status >= 300) {
      this.#retryAfter = valueOf(headers, "retry-after");
      this.#location = valueOf(headers, "location");
    } else if (this.#exchange.method === "initialize") this.#onSession(headers);
    if (status === 401 || status === 403)
      this.#challenge = valuesOf(headers, "www-authenticate").join(", ");
    const encoding = valueOf(headers, "content-encoding");
    if (encoding && encoding !== "identity")
      this.#refuse(
        this.#wire.faults.protocol(`compressed its answer (${encoding}) although it must not`),
      );
    else if (status < 300 && valueOf(headers, "content-type")?.startsWith("text/event-stream"))
      this.#sse = new SseParser(this, this.#wire.maxResult);
  }

  onResponseData(chunk: Buffer): void {
    if (this.#aborted) return;
    if (this.#sse === undefined) return this.#keep(chunk);
    this.#sse.push(chunk);
    holdBack(this.#exchange, this.#control!);
  }

  onResponseEnd(): void {
    if (this.#aborted) return;
    if (this.#sse) return this.#onStreamEnd();
    this.#wire.forget(this.#exchange);
    if (this.#status >= 300) return this.#onRefusal();
    const { length } = this.#body;
    if (length > 0) this.#wire.receiver.receive(this.#body.take(), length, this.#exchange);
    if (!this.#exchange.isOver)
      this.#onForeign(this.#wire.faults.protocol("sent no answer to this request"));
  }

  onResponseError(error: Error): void {
    if (this.#aborted) return;
    if (this.#exchange.isOver) return this.#wire.ended(this);
    if (this.#sse?.lastEventId) return this.#onStreamEnd();
    this.#wire.forget(this.#exchange);
    const fault = this.#wire.faults.network(error);
    // Not started means not a byte of it was written: the only network failure after which sending again is safe.
    if (this.#control && this.#status > 0) this.#exchange.fail(fault);
    else if (this.#control) this.#onForeign(fault);
    else this.#wire.receiver.lost(fault, "finish", this.#exchange);
  }

  event(data: readonly Buffer[], length: number): void {
    if (length > 0) this.#wire.receiver.receive(data, length, this.#exchange);
    if (!this.#exchange.isOver) return;
    this.#wire.forget(this.#exchange);
    this.#wire.linger(this);
  }

  overflow(): void {
    this.#tooMuch();
  }

  #onSession(headers: readonly string[]): void {
    const session = valueOf(headers, "mcp-session-id");
    if (session !== undefined) this.#wire.open(session);
  }

  #keep(chunk: Buffer): void {
    const max = this.#status < 300 ? this.#wire.maxResult : MAX_REFUSAL;
    if (this.#body.length + chunk.length > max) return this.#tooMuch();
    this.#body.add(chunk);
  }

  #onStreamEnd(): void {
    const { lastEventId, retry } = this.#sse!;
    if (this.#exchange.isOver) return this.#wire.ended(this);
    if (lastEventId !== "" && this.#wire.dialect?.era === "legacy")
      return this.#wire.resume(this.#exchange, lastEventId, retry);
    this.#wire.forget(this.#exchange);
    this.#exchange.fail(
      this.#wire.faults.protocol("ended its event stream before the answer was complete"),
    );
  }

  #tooMuch(): void {
    if (this.#status >= 300)
      return this.#refuse(this.#wire.faults.status(this.#status, this.#retryAfter));
    this.#refuse(this.#wire.faults.tooLarge(this.#wire.maxResult));
  }

  #refuse(error: GatewayError): void {
    this.#wire.forget(this.#exchange);
    this.abort();
    this.#exchange.fail(error);
  }

  /** What came, or the end of the connection, may have been meant for the request before (0073). */
  #onForeign(fault: GatewayError): void {
    if (!this.#isReused) return this.#exchange.fail(fault);
    // What comes next on it may be the answer to this one.
    this.#control?.abort();
    if (mayRunTwice(this.#exchange) && !this.#exchange.resent) this.#wire.again(this.#exchange);
    else this.#exchange.fail(fault);
  }

  get #isReused(): boolean {
    return this.#control?.isReused === true;
  }

  /** Whether sending it again could make it run twice: a refusal that names no request may be that of another one. */
  get #isRisky(): boolean {
    const { id, call } = this.#exchange;
    const isUnsafe = call !== undefined && !mayRunTwice(this.#exchange);
    return this.#isReused && isUnsafe && this.#refusal?.id !== id;
  }

  #onRefusal(): void {
    const status = this.#status;
    this.#refusal = readRefusal(this.#body.take());
    const { id } = this.#refusal ?? {};
    const isForeign = this.#isReused && id !== this.#exchange.id;
    if (isForeign && !NAMELESS.has(id)) return this.#onForeign(this.#wire.faults.status(status));
    const isOfLogin = this.#wire.hasAccount && (status === 401 || status === 403);
    if (isForeign && !(isOfLogin && this.#isRisky)) this.#control?.abort();
    if (!isOfLogin) return this.#onFinalRefusal();
    const refusal = {
      status,
      challenge: this.#challenge,
      authorization: this.#authorization,
    } as const;
    this.#renew(refusal).catch((error: unknown) => this.#exchange.fail(toGatewayError(error)));
  }

  /** New credentials mean that it is sent again: the refusal has to be its own (0073). */
  async #renew(refusal: ServerRefusal): Promise<void> {
    const isCertain =
      !this.#isRisky || (await this.#wire.confirms(this.#exchange, refusal, this.#control!));
    if (!isCertain) this.#exchange.fail(this.#wire.faults.status(refusal.status));
    else if (!(await this.#wire.renew(this.#exchange, refusal))) this.#onFinalRefusal();
  }

  #onFinalRefusal(): void {
    const target = readRedirect(this.#status, this.#location, this.#wire.href);
    if (target) return this.#onRedirect(target);
    const error = this.#refusal?.answer;
    const fault = this.#wire.faults.status(this.#status, this.#retryAfter);
    const isLost = isSessionLoss(this.#status, error?.error);
    if (this.#hadSession && this.#isRisky && (isLost || this.#status === 401))
      return this.#wire.receiver.doubted(fault, this.#exchange);
    if (this.#hadSession && isLost) {
      this.#wire.session = undefined;
      return this.#wire.receiver.lost(this.#wire.faults.session(), "finish", this.#exchange);
    }
    if (this.#status === 401) {
      // It did not run, and a server that was restarted may know the credentials but not the session.
      if (this.#hadSession) return this.#wire.receiver.lost(fault, "finish", this.#exchange);
      this.#exchange.fail(fault);
      return this.#wire.receiver.lost(fault, "finish");
    }
    if (error && this.#status < 500 && this.#status !== 403) this.#exchange.settle(error);
    else this.#exchange.fail(fault);
  }

  #onRedirect(target: URL): void {
    const { call, redirects } = this.#exchange;
    if (this.#isRisky) return this.#onForeign(this.#wire.faults.status(this.#status));
    if (redirects < MAX_REDIRECTS && isFollowed(this.#status, target, this.#wire.href)) {
      this.#exchange.redirects++;
      return this.#wire.follow(this.#exchange, target);
    }
    const { faults } = this.#wire;
    const isCallers = call !== undefined;
    this.#exchange.fail(
      isCallers ? faults.status(this.#status) : faults.redirect(this.#status, target),
    );
  }
}
