import { GatewayError } from "./errors.ts";
import { AllowedAddresses, isLoopback, isSameHost } from "./addresses.ts";
import { networkReason } from "./faults.ts";
import { HttpClient, type HttpClientReply, type HttpClientRequest } from "./http-client.ts";

/**
 * How a {@link GuardedHttpClient} works.
 *
 * @example const options: GuardedHttpClientOptions = { allowedAddresses, option: "plugins.mine.allowedAddresses", maxResult, fault };
 */
export interface GuardedHttpClientOptions {
  /** Hosts, addresses and networks that may be named besides public ones. */
  readonly allowedAddresses: readonly string[];
  /** Where they stand, for messages. */
  readonly option: string;
  /** Largest body in bytes, uncompressed. */
  readonly maxResult: number;
  /** Most connections to one host at a time. Default: any number. */
  readonly connections?: number;
  /** Makes the error: `why` is the end of a sentence. */
  readonly fault: (why: string, cause?: unknown) => GatewayError;
}

/**
 * HTTP to URLs that somebody else named, such as those in the metadata of an authorization server. An operator's URL may lead
 * anywhere, and so may another on its host. Every other is https to a public address, or to one that is allowed, and the connection
 * goes to the very address that was checked. Where the operator's host is this machine, others on it may be named as well.
 *
 * @example
 * const http = new GuardedHttpClient({ allowedAddresses, option, maxResult, fault });
 * const reply = await http.send(new URL(metadata.token_endpoint), [issuer], { method: "POST", headers, body, signal });
 */
export class GuardedHttpClient {
  readonly #options: GuardedHttpClientOptions;
  readonly #addresses: AllowedAddresses;
  /** To what the operator chose, and to this machine. */
  readonly #chosen: HttpClient;
  readonly #named: HttpClient;

  /** @throws {GatewayError} `invalid` for an entry of `allowedAddresses` that is not a host, address or network */
  constructor(options: GuardedHttpClientOptions) {
    const { maxResult, connections, fault } = options;
    const common = {
      maxResult,
      ...(connections !== undefined && { connections }),
      network: (cause: unknown): GatewayError =>
        cause instanceof GatewayError ? cause : fault(networkReason(cause), cause),
      tooLarge: (): GatewayError => fault("its answer is too large"),
    };
    this.#options = options;
    this.#addresses = new AllowedAddresses(options.allowedAddresses, options.option);
    this.#chosen = new HttpClient(common);
    this.#named = new HttpClient({
      ...common,
      lookup: this.#addresses.guard(() => this.#refusal()),
    });
  }

  /**
   * Sends a request.
   *
   * @param url where to
   * @param chosen URLs that the operator wrote; none: the operator wrote this one
   * @throws {GatewayError} what `fault` makes; what aborted the signal
   */
  async send(
    url: URL,
    chosen: readonly URL[],
    request: HttpClientRequest,
  ): Promise<HttpClientReply> {
    return this.#clientFor(url, chosen).send(url, request);
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all([this.#chosen.destroy(), this.#named.destroy()]);
  }

  #clientFor(url: URL, chosen: readonly URL[]): HttpClient {
    if (chosen.length === 0 || chosen.some((each) => isSameHost(url, each))) return this.#chosen;
    const isHere = isHttp(url) && isLoopback(url.hostname);
    if (isHere && chosen.some((each) => isLoopback(each.hostname))) return this.#chosen;
    const isSecure = url.protocol === "https:" || isHere;
    if (isSecure && this.#addresses.permitsUrl(url)) return this.#named;
    throw this.#refusal();
  }

  #refusal(): GatewayError {
    return this.#options.fault("it names an address that is not allowed");
  }
}

function isHttp({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}
