import type { LookupFunction } from "node:net";
import type { Logger } from "pino";
import { type Call, GatewayError } from "propylon";
import { AllowedAddresses, type HttpServerConfig, InFlightSet, traceHeaders } from "propylon/kit";
import type { Exchange } from "./exchange.ts";
import { Faults } from "./faults.ts";
import { ServerReply } from "./http-reply.ts";
import { HttpStream } from "./http-stream.ts";
import { encodeHeader, IDENTITY_HEADER, identityOf } from "./envelope.ts";
import { Pool } from "./undici.ts";
import type { Dialect, Wire, WireReceiver } from "./wire.ts";

/** Headers that are ours to set; a config that names them would break the protocol. */
const OWN_HEADERS =
  /^(?:accept|accept-encoding|connection|content-length|content-type|transfer-encoding|mcp-.*|last-event-id|traceparent|tracestate|propylon-identity)$/i;

/** Sockets to one server; a call beyond waits for a free one. */
const MAX_CONNECTIONS = 1_024;

/** How long a server may keep an event stream open after the answer, in milliseconds. */
const LINGER_MS = 2_000;

/** What an HTTP wire is made of. */
export interface HttpWireOptions {
  readonly name: string;
  readonly config: HttpServerConfig;
  readonly userAgent: string;
  readonly log: Logger;
  readonly receiver: WireReceiver;
}

/** Reads the answer to one exchange. */
type Reader = ServerReply | HttpStream;

/** Streamable HTTP of both eras, on undici's `dispatch`: no fetch, no web streams (performance.md). */
export class HttpWire implements Wire {
  readonly transport = "streamable-http";
  readonly pid = undefined;
  readonly receiver: WireReceiver;
  readonly faults: Faults;
  /** Largest message in bytes. */
  readonly maxResult: number;
  readonly log: Logger;
  /** `Mcp-Session-Id` of a legacy server that gave one. */
  session: string | undefined;
  dialect: Dialect | undefined;
  readonly #pool: Pool;
  readonly #path: string;
  readonly #base: readonly string[];
  readonly #readers = new InFlightSet<Reader>();
  readonly #lingering = new InFlightSet<Reader>();
  #sweep: NodeJS.Timeout | undefined;
  #headers: string[] = [];
  #stream: HttpStream | undefined;

  constructor({ name, config, userAgent, log, receiver }: HttpWireOptions) {
    const url = new URL(config.url);
    this.receiver = receiver;
    this.faults = new Faults(name);
    this.maxResult = config.maxResult;
    this.log = log;
    this.#path = `${url.pathname}${url.search}`;
    this.#base = baseHeaders(url, config.headers, userAgent);
    this.#pool = new Pool(url.origin, {
      connections: MAX_CONNECTIONS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connectOptions(name, config),
    });
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
    const reply = new ServerReply(this, exchange);
    this.#read(exchange, reply);
    const headers = this.dialect?.era === "modern" ? this.#modernHeaders(exchange) : this.#headers;
    const own = callHeaders(exchange.call);
    this.dispatch("POST", own ? [...headers, ...own] : headers, exchange.message, reply);
  }

  post(message: string): void {
    const failed = (error: Error): void =>
      this.log.debug({ err: error }, "message to a server not delivered");
    this.dispatch("POST", this.#headers, message, new Discard(failed));
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

  /** Sends a request; the handler gets the outcome. */
  dispatch(
    method: "POST" | "GET" | "DELETE",
    headers: string[],
    body: string | null,
    handler: object,
  ): void {
    this.#pool.dispatch({ path: this.#path, method, headers, body }, handler);
  }

  /** Headers of a GET or DELETE. */
  plainHeaders(accept: string, lastEventId?: string): string[] {
    const headers = [...this.#base, "accept", accept, ...this.#protocolHeaders()];
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

  #modernHeaders(exchange: Exchange): string[] {
    const headers = [...this.#headers, "mcp-method", exchange.method];
    if (exchange.name !== undefined) headers.push("mcp-name", encodeHeader(exchange.name));
    if (exchange.mirrored) headers.push(...exchange.mirrored);
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

/** Reads an answer nobody needs, so that its socket can be used again. */
export class Discard {
  readonly #failed: (error: Error, sent: boolean) => void;
  readonly #ended: (status: number) => void;
  #sent = false;
  #status = 0;

  /**
   * @param failed the network failed; `sent` tells whether the request may have gone out
   * @param ended the response is complete
   */
  constructor(
    failed: (error: Error, sent: boolean) => void,
    ended: (status: number) => void = () => undefined,
  ) {
    this.#failed = failed;
    this.#ended = ended;
  }

  onRequestStart(): void {
    this.#sent = true;
  }

  onResponseStart(_controller: unknown, status: number): void {
    this.#status = status;
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    this.#ended(this.#status);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#failed(error, this.#sent);
  }
}

/**
 * How connections to a server are made; a server that somebody else added reaches allowed addresses only.
 * @throws {GatewayError} `upstream_error` when the URL has another address in place of a name
 */
export function connectOptions(
  name: string,
  { url, connectTimeout: timeout, allowAddresses }: HttpServerConfig,
): { timeout: number; lookup?: LookupFunction } {
  if (allowAddresses === undefined) return { timeout };
  const addresses = new AllowedAddresses(allowAddresses, `servers.${name}.allowAddresses`);
  const refusal = (): GatewayError =>
    new GatewayError("upstream_error", `Server "${name}" has an address that is not allowed.`, {
      hint: `Name the host in servers.${name}.allowAddresses if the gateway may reach it.`,
    });
  if (!addresses.permitsUrl(new URL(url))) throw refusal();
  return { timeout, lookup: addresses.guard(refusal) };
}

/** Headers that one call has, name and value in turn: its trace, and who makes it where the server is told. */
export function callHeaders(call: Call | undefined): readonly string[] | undefined {
  const trace = traceHeaders(call?.meta);
  const identity = identityOf(call);
  return identity === undefined ? trace : [...(trace ?? []), IDENTITY_HEADER, identity];
}

/** Headers of every request to a server: the ones of the config, without those that are the protocol's. */
export function baseHeaders(
  url: URL,
  configured: Readonly<Record<string, string>>,
  userAgent: string,
): string[] {
  const headers = ["user-agent", userAgent, "accept-encoding", "identity"];
  const names = new Set<string>();
  for (const [name, value] of Object.entries(configured)) {
    names.add(name.toLowerCase());
    if (!OWN_HEADERS.test(name)) headers.push(name, value);
  }
  if (url.username !== "" && !names.has("authorization")) {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.push("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  }
  return headers;
}
