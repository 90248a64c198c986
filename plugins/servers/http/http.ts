import type { SecureContext } from "node:tls";
import type { Logger } from "pino";
import { toGatewayError } from "propylon";
import { writeJson } from "propylon/kit";
import { InFlightSet } from "propylon/internal";
import { connectTimeoutOf, type HttpServerConfig } from "../entry.ts";
import type { ServersOptions } from "../options.ts";
import { Discard } from "../pool/discard.ts";
import type { Exchange } from "../wire/exchange.ts";
import { Faults } from "../wire/faults.ts";
import { baseHeaders, openPool } from "./http-options.ts";
import { ServerReply } from "./http-reply.ts";
import type { Credentials } from "./personal.ts";
import type { ServerAccount, ServerRefusal } from "../service.ts";
import { HttpStream } from "./http-stream.ts";
import { type PingOutcome, PingReader } from "./ping-reader.ts";
import { callHeaders, encodeHeader } from "../wire/envelope.ts";
import { nextId } from "../wire/message.ts";
import type { HttpRequest, Pool, RequestControl, ResponseReader } from "../pool/http-pool.ts";
import type { Dialect, Wire, WireReceiver } from "../wire/wire.ts";

/** How long a server may keep an event stream open after the answer, in milliseconds. */
const LINGER_MS = 2_000;

/** What an HTTP wire is made of. */
export interface HttpWireOptions {
  readonly name: string;
  readonly config: HttpServerConfig;
  readonly userAgent: string;
  readonly log: Logger;
  readonly receiver: WireReceiver;
  /** Whose requests they are; default: the headers of the config, and no login. */
  readonly credentials?: Credentials | undefined;
  readonly secureContext?: SecureContext | undefined;
  /** Default: our own. */
  readonly httpClient?: ServersOptions["httpClient"] | undefined;
}

/** How often a request is sent again with other credentials. */
const MAX_RENEWALS = 3;

/** Reads the answer to one exchange. */
type Reader = ServerReply | HttpStream;

/** Streamable HTTP of both eras, over a {@link Pool}: no fetch, no web streams. */
export class HttpWire implements Wire {
  readonly transport = "streamable-http";
  readonly pid = undefined;
  readonly receiver: WireReceiver;
  readonly faults: Faults;
  /** Largest message in bytes. */
  readonly maxResult: number;
  readonly patience: number;
  readonly log: Logger;
  /** `Mcp-Session-Id` of a legacy server that gave one. */
  session: string | undefined;
  dialect: Dialect | undefined;
  readonly #pool: Pool;
  /** Where requests go. */
  href: string;
  #path: string;
  readonly #base: readonly string[];
  readonly #readers = new InFlightSet<Reader>();
  readonly #lingering = new InFlightSet<Reader>();
  #sweep: NodeJS.Timeout | undefined;
  #headers: string[] = [];
  #stream: HttpStream | undefined;
  readonly #account: ServerAccount | undefined;
  /** What the last request had: for what is sent in passing. */
  #authorization: string | undefined;
  /** What was refused last, perhaps in place of another: its next request goes out on a connection of its own. */
  #doubted: string | undefined;

  constructor(options: HttpWireOptions) {
    const { name, config, userAgent, log, receiver, credentials, secureContext, httpClient } =
      options;
    const url = new URL(config.url);
    this.receiver = receiver;
    this.faults = new Faults(name);
    this.maxResult = config.maxResult;
    // A call that comes first may be answered on the stream of unrelated messages by a server that is slow to open it.
    this.patience = connectTimeoutOf(config) / 20;
    this.log = log;
    this.href = url.href;
    this.#path = `${url.pathname}${url.search}`;
    this.#base = baseHeaders(url, credentials?.headers ?? config.headers, userAgent);
    this.#account = credentials?.account;
    this.#pool = openPool(name, config, secureContext, httpClient);
    this.#rebuild();
  }

  speak(dialect: Dialect | undefined): void {
    this.dialect = dialect;
    this.#rebuild();
  }

  /** Remembers the session a legacy server opened. */
  open(session: string): void {
    this.session = session;
    this.#rebuild();
  }

  send(exchange: Exchange): void {
    if (!this.#account) return this.#sendAs(exchange, undefined);
    try {
      const authorization = this.#account.authorization();
      if (!(authorization instanceof Promise)) return this.#sendAs(exchange, authorization);
      authorization.then(
        (value) => exchange.done || this.#sendAs(exchange, value),
        (error: unknown) => exchange.fail(toGatewayError(error)),
      );
    } catch (error) {
      exchange.fail(toGatewayError(error));
    }
  }

  async confirms(
    { name, call }: Exchange,
    refusal: ServerRefusal,
    control: RequestControl,
  ): Promise<boolean> {
    const isOwn = await this.#isOwn(call, refusal, control);
    if (!isOwn) this.#doubted = name;
    return isOwn;
  }

  async #isOwn(
    call: Exchange["call"],
    { status, authorization }: ServerRefusal,
    control: RequestControl,
  ): Promise<boolean> {
    const headers = this.#headersOf({ method: "ping", call }, authorization);
    if (status === 403 && control.follow) {
      // The scope of one tool may be missing. What comes next here is the answer to the ping, or that to the request itself.
      const next = await this.#ping(headers, (...sent) => control.follow!(...sent));
      if (next.isNamed) return true;
      if (next.status !== status && next.status !== 0) return false;
    } else control.abort();
    const again = await this.#ping(headers, (...sent) => this.#pool.dispatch(...sent));
    return again.status === status;
  }

  /** Asks with all that the refused request had, or it could be refused for what it lacks. */
  #ping(
    headers: string[],
    send: (ping: HttpRequest, reader: ResponseReader) => void,
  ): Promise<PingOutcome> {
    const id = nextId();
    const body = writeJson({ jsonrpc: "2.0", id, method: "ping" });
    const reader = new PingReader(id);
    send({ path: this.#path, method: "POST", headers, body, isFresh: true }, reader);
    return reader.outcome;
  }

  /** A request was refused for its credentials; whether it was sent again with others. */
  async renew(exchange: Exchange, refusal: ServerRefusal): Promise<boolean> {
    if (!this.#account || exchange.renewals >= MAX_RENEWALS) return false;
    exchange.renewals++;
    if (!(await this.#account.refused(refusal))) return false;
    if (!exchange.done) this.send(exchange);
    return true;
  }

  /** A server whose path ends with a slash, or without one, redirects to the other: asked for once. */
  follow(exchange: Exchange, target: URL): void {
    this.href = target.href;
    this.#path = `${target.pathname}${target.search}`;
    if (!exchange.done) this.send(exchange);
  }

  again(exchange: Exchange): void {
    exchange.resent = true;
    if (!exchange.done) this.send(exchange);
  }

  /** Whether other credentials can be had. */
  get hasAccount(): boolean {
    return this.#account !== undefined;
  }

  post(message: string): void {
    const failed = (error: Error): void =>
      this.log.debug({ err: error }, "message to a server not delivered");
    const headers = [...this.#headers, ...this.#credentials()];
    this.dispatch("POST", headers, message, new Discard(failed));
  }

  #sendAs(exchange: Exchange, authorization: string | undefined): void {
    this.#authorization = authorization;
    const reply = new ServerReply(this, exchange, authorization);
    this.#read(exchange, reply);
    const { message: body, resent, name } = exchange;
    const isDoubted = name !== undefined && name === this.#doubted;
    if (isDoubted) this.#doubted = undefined;
    const isFresh = resent || isDoubted;
    const headers = this.#headersOf(exchange, authorization);
    this.#pool.dispatch({ path: this.#path, method: "POST", headers, body, isFresh }, reply);
  }

  #credentials(): string[] {
    return this.#authorization === undefined ? [] : ["authorization", this.#authorization];
  }

  drop(exchange: Exchange): void {
    exchange.stream?.abort();
    this.forget(exchange);
  }

  /** An exchange is through. */
  forget(exchange: Exchange): void {
    const { stream } = exchange;
    exchange.stream = undefined;
    if (stream) this.#readers.delete(stream as Reader);
  }

  /** Its answer came on an event stream. The server should end that now; its socket cannot be used again before. */
  linger(reply: ServerReply): void {
    this.#lingering.add(reply);
    this.#sweep ??= setTimeout(() => this.#abortLingering(), LINGER_MS).unref();
  }

  /** The server ended the stream. */
  ended(reply: ServerReply): void {
    this.#lingering.delete(reply);
  }

  /** Reads on for an exchange whose stream ended without the answer (2025-11-25, "Resumability and Redelivery"). */
  resume(exchange: Exchange, lastEventId: string, retry: number | undefined): void {
    const stream = new HttpStream(this, { exchange, lastEventId, retry });
    this.#read(exchange, stream);
    stream.start();
  }

  async listen(): Promise<void> {
    if (this.dialect?.era !== "legacy") return;
    this.#stream = new HttpStream(this, {});
    this.#stream.start();
    await this.#stream.opened;
  }

  /** Sends a request; the reader gets the outcome. */
  dispatch(
    method: HttpRequest["method"],
    headers: string[],
    body: string | null,
    reader: ResponseReader,
  ): void {
    this.#pool.dispatch({ path: this.#path, method, headers, body }, reader);
  }

  /** Headers of a GET or DELETE. */
  plainHeaders(accept: string, lastEventId?: string): string[] {
    const headers = [
      ...this.#base,
      "accept",
      accept,
      ...this.#protocolHeaders(),
      ...this.#credentials(),
    ];
    return lastEventId ? [...headers, "last-event-id", lastEventId] : headers;
  }

  async close(): Promise<void> {
    this.#stream?.abort();
    this.#abortLingering();
    for (const reader of this.#readers) reader.abort();
    this.#readers.clear();
    if (this.session !== undefined) await this.#deleteSession();
    await this.#pool.destroy();
  }

  /** Ends the session at the server too; a server that does not answer must not hold up closing. */
  #deleteSession(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(done, 1_000);
      this.dispatch("DELETE", this.plainHeaders("application/json"), null, new Discard(done, done));
    });
  }

  #read(exchange: Exchange, reader: Reader): void {
    this.forget(exchange);
    exchange.stream = reader;
    this.#readers.add(reader);
  }

  #abortLingering(): void {
    clearTimeout(this.#sweep);
    this.#sweep = undefined;
    for (const reply of this.#lingering) reply.abort();
    this.#lingering.clear();
  }

  #headersOf(
    {
      method,
      name,
      mirrored,
      call,
    }: Pick<Exchange, "method" | "call"> & Partial<Pick<Exchange, "name" | "mirrored">>,
    authorization: string | undefined,
  ): string[] {
    const headers = [...this.#headers];
    if (this.dialect?.era === "modern") {
      headers.push("mcp-method", method);
      if (name !== undefined) headers.push("mcp-name", encodeHeader(name));
      if (mirrored) headers.push(...mirrored);
    }
    const own = callHeaders(call);
    if (own) headers.push(...own);
    if (authorization !== undefined) headers.push("authorization", authorization);
    return headers;
  }

  #protocolHeaders(): string[] {
    const headers: string[] = [];
    if (this.dialect) headers.push("mcp-protocol-version", this.dialect.version);
    if (this.session !== undefined) headers.push("mcp-session-id", this.session);
    return headers;
  }

  #rebuild(): void {
    this.#headers = [
      ...this.#base,
      "content-type",
      "application/json",
      "accept",
      "application/json, text/event-stream",
      ...this.#protocolHeaders(),
    ];
  }
}
