import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { GatewayError, isGatewayError, networkReason } from "propylon";
import type { Pool } from "undici";
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
export interface ExchangeOptions {
  /** Server name, for messages. */
  readonly server: string;
  readonly origin: string;
  readonly connectTimeout: number;
  /** Largest response in bytes, uncompressed. */
  readonly maxResult: number;
}

/** Requests to one API, over a pool of connections. */
export class Exchange {
  readonly origin: string;
  readonly #options: ExchangeOptions;
  readonly #pool: Pool;

  private constructor(options: ExchangeOptions, pool: Pool) {
    this.origin = options.origin;
    this.#options = options;
    this.#pool = pool;
  }

  /** undici is only loaded once there is an API to call: it costs tens of milliseconds of a start. */
  static async open(options: ExchangeOptions): Promise<Exchange> {
    const { Pool: UndiciPool } = await import("undici");
    const pool = new UndiciPool(options.origin, {
      connections: 128,
      connect: { timeout: options.connectTimeout },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return new Exchange(options, pool);
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
        const next = this.#redirected(request.method, path, reply);
        if (next === undefined || hop === MAX_REDIRECTS) return reply;
        path = next;
      }
    } catch (error) {
      if (isGatewayError(error)) throw error;
      if (signal.aborted) throw signal.reason;
      throw new GatewayError(
        "upstream_error",
        `Server "${this.#options.server}" cannot be used: ${networkReason(error)}.`,
        { cause: error, data: { server: this.#options.server } },
      );
    }
  }

  /** Ends after the requests in flight. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** Ends at once. */
  async destroy(): Promise<void> {
    await this.#pool.destroy();
  }

  async #once({ method, path, headers, body }: ApiRequest, signal: AbortSignal): Promise<ApiReply> {
    const response = await this.#pool.request({
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
      url: `${this.origin}${path.split("?", 1)[0]}`,
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
      if (size > maxResult)
        throw new GatewayError(
          "result_too_large",
          `Server "${server}" answered with more than ${maxResult} bytes.`,
          {
            data: { server, limit: maxResult },
            hint: "Raise maxResult of this server, or ask it for less.",
          },
        );
      all.push(chunk);
    }
    return Buffer.concat(all);
  }

  #redirected(method: string, path: string, { location }: ApiReply): string | undefined {
    if (location === undefined || (method !== "GET" && method !== "HEAD")) return undefined;
    const target = parseUrl(location, `${this.origin}${path}`);
    return target?.origin === this.origin ? `${target.pathname}${target.search}` : undefined;
  }
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
