import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { isGatewayError } from "propylon";
import { networkFault, sizeFault } from "propylon/kit";
import type { Agent } from "undici";
import { parseUrl } from "./references.ts";
import type { ApiRequest } from "./request.ts";

const MAX_REDIRECTS = 5;
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** What an API answered. */
export interface ApiReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Without query, which may hold what is nobody else's business. */
  readonly url: string;
  /** Where a redirect that was not followed leads. */
  readonly location: string | undefined;
}

/** How an API is reached. */
export interface ApiHttpOptions {
  /** Server name, for messages. */
  readonly server: string;
  readonly connectTimeout: number;
  /** Largest response in bytes, uncompressed. */
  readonly maxResult: number;
}

/** Requests to one API, over pools of connections. */
export class ApiHttp {
  readonly #options: ApiHttpOptions;
  #agent: Promise<Agent> | undefined;

  constructor(options: ApiHttpOptions) {
    this.#options = options;
  }

  /** Gets ready for the first request, which need not wait for it then. */
  async open(): Promise<void> {
    await this.#opened();
  }

  /**
   * Sends a request and reads the whole answer. Redirects are followed for GET and HEAD on the same host only, since the
   * headers of the operator belong to that host.
   *
   * @throws {GatewayError} `upstream_error` when the network fails, `result_too_large`; what aborted the signal
   */
  async send(request: ApiRequest, signal: AbortSignal): Promise<ApiReply> {
    try {
      let path = request.path;
      for (let hop = 0; ; hop++) {
        const reply = await this.#once({ ...request, path }, signal);
        const next = redirected({ ...request, path }, reply);
        if (next === undefined || hop === MAX_REDIRECTS) return reply;
        path = next;
      }
    } catch (error) {
      if (isGatewayError(error)) throw error;
      if (signal.aborted) throw signal.reason;
      throw networkFault(this.#options.server, error);
    }
  }

  /** Ends at once. */
  async destroy(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  #opened(): Promise<Agent> {
    return (this.#agent ??= openAgent(this.#options.connectTimeout));
  }

  async #once(request: ApiRequest, signal: AbortSignal): Promise<ApiReply> {
    const { origin, method, path, headers, body } = request;
    const agent = await this.#opened();
    const response = await agent.request({
      origin,
      method,
      path,
      headers: { "accept-encoding": "gzip, deflate, br", ...headers },
      body: body ?? null,
      signal,
    });
    const { statusCode: status, headers: received } = response;
    return {
      status,
      contentType: header(received["content-type"]) ?? "",
      body: await this.#read(response.body, header(received["content-encoding"])),
      url: `${origin}${path.split("?", 1)[0]}`,
      location: status >= 300 && status < 400 ? header(received["location"]) : undefined,
    };
  }

  async #read(body: Readable, encoding: string | undefined): Promise<Buffer> {
    const decode = encoding && DECODERS[encoding.toLowerCase()];
    const decoded = decode ? body.pipe(decode()) : body;
    // Also keeps the error of a body that is given up on half-way from ending the process.
    body.on("error", (error) => decoded !== body && decoded.destroy(error));
    try {
      return await this.#collect(decoded);
    } finally {
      body.destroy();
    }
  }

  async #collect(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
    const { server, maxResult } = this.#options;
    const all: Buffer[] = [];
    let size = 0;
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > maxResult) throw sizeFault(server, maxResult);
      all.push(chunk);
    }
    return Buffer.concat(all);
  }
}

/** undici is only loaded once there is an API to call: it costs tens of milliseconds of a start. */
async function openAgent(connectTimeout: number): Promise<Agent> {
  const { Agent: UndiciAgent } = await import("undici");
  return new UndiciAgent({
    connections: 128,
    connect: { timeout: connectTimeout },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function redirected(
  { method, origin, path }: ApiRequest,
  { location }: ApiReply,
): string | undefined {
  if (location === undefined || (method !== "GET" && method !== "HEAD")) return undefined;
  const target = parseUrl(location, `${origin}${path}`);
  return target?.origin === origin ? `${target.pathname}${target.search}` : undefined;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
