import type { GatewayError } from "./errors.ts";
import { timeoutSignal } from "./timers.ts";
import { GuardedHttpClient } from "./guarded-http.ts";
import type { HttpClientReply } from "./http-client.ts";
import { isWithinDepth } from "./json.ts";

/** Largest document in bytes; metadata and tokens have a few thousand. */
const MAX_DOCUMENT = 256 * 1024;
const MAX_DEPTH = 16;
/** Most connections to one provider at a time. */
const MAX_CONNECTIONS = 16;
/** Headers of an answer that somebody reads. */
const KEPT = ["content-type", "cache-control", "www-authenticate", "location"];

/**
 * How a {@link ProviderHttp} works.
 *
 * @example const options: ProviderHttpOptions = { allowedAddresses, option: "plugins.mine.allowedAddresses", timeout: 5000, fault };
 */
export interface ProviderHttpOptions {
  /** Hosts, addresses and networks that may be named besides public ones. */
  readonly allowedAddresses: readonly string[];
  /** Where they stand, for messages. */
  readonly option: string;
  /** Longest request in milliseconds, its body included. */
  readonly timeout: number;
  /** Makes the error: `why` is the end of a sentence. */
  readonly fault: (why: string, cause?: unknown) => GatewayError;
}

/**
 * What of a request of `fetch` is read.
 *
 * @example const request: ProviderRequest = { method: "POST", body: new URLSearchParams({ token }) };
 */
export interface ProviderRequest {
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Text, or a form. */
  readonly body?: unknown;
}

/**
 * What {@link ProviderHttp} gives in place of `fetch`, as `oauth4webapi` takes it.
 *
 * @example const response = await fetch("https://login.example.com/.well-known/openid-configuration");
 */
export type ProviderFetch = (url: string, request?: ProviderRequest) => Promise<Response>;

/**
 * HTTP with authorization servers, whose metadata name further addresses. An operator's URL may lead anywhere, and so may another on
 * its host. Every other is https to a public address, or to one that is allowed, and the connection goes to the very address that was
 * checked. Bounded in size (256 KiB), depth (16) and time, and no redirect is followed: `location` says
 * where one leads.
 *
 * @example
 * const http = new ProviderHttp({ allowedAddresses, option, timeout, fault });
 * const response = await discoveryRequest(issuer, { [customFetch]: http.from([issuer]) });
 */
export class ProviderHttp {
  readonly #http: GuardedHttpClient;
  readonly #timeout: number;
  readonly #fault: ProviderHttpOptions["fault"];

  /** @throws {GatewayError} `invalid` for an entry of `allowedAddresses` that is not a host, address or network */
  constructor({ timeout, ...options }: ProviderHttpOptions) {
    this.#timeout = timeout;
    this.#fault = options.fault;
    this.#http = new GuardedHttpClient({
      ...options,
      maxResult: MAX_DOCUMENT,
      connections: MAX_CONNECTIONS,
    });
  }

  /**
   * What sends requests; it throws what `fault` makes.
   *
   * @param chosen URLs that the operator wrote; none: the operator wrote each that is fetched
   */
  from(chosen: readonly URL[]): ProviderFetch {
    return async (url, request = {}) => {
      if (!URL.canParse(url)) throw this.#fault("it names an address that is not a URL");
      const signal = timeoutSignal(this.#timeout);
      try {
        return await this.#send(new URL(url), chosen, request, signal);
      } catch (error) {
        throw signal.aborted ? this.#fault("it does not answer in time", error) : error;
      }
    };
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.close();
  }

  async #send(
    url: URL,
    chosen: readonly URL[],
    { method = "GET", headers = {}, body }: ProviderRequest,
    signal: AbortSignal,
  ): Promise<Response> {
    const reply = await this.#http.send(url, chosen, {
      method,
      headers: { ...headers, "user-agent": "propylon" },
      body: body instanceof URLSearchParams ? body.toString() : (body as string | undefined),
      signal,
    });
    const bytes = await reply.bytes();
    // Its reader refuses invalid JSON; what nests too deep must not get that far.
    if (!isWithinDepth(bytes, MAX_DEPTH)) throw this.#fault("its answer nests too deep");
    return toResponse(reply, bytes);
  }
}

function toResponse(reply: HttpClientReply, bytes: Buffer): Response {
  // A body belongs to none of the others, and a Response refuses it there.
  const isPlain = reply.status >= 200 && ![204, 205, 304].includes(reply.status);
  return new Response(isPlain ? new Uint8Array(bytes) : null, {
    status: Math.max(reply.status, 200),
    headers: Object.fromEntries(
      KEPT.map((name) => [name, reply.header(name)]).filter(([, value]) => value !== ""),
    ),
  });
}
