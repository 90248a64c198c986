import { isGatewayError } from "propylon";
import { GuardedHttpClient, parseInexact, timeoutSignal } from "propylon/kit";
import { providerFault } from "./faults.ts";
import type { OauthClientOptions } from "./options.ts";

/** Largest document in bytes; metadata and tokens have a few thousand. */
const MAX_DOCUMENT = 256 * 1024;
const MAX_DEPTH = 16;
/** Most connections to one provider at a time. */
const MAX_CONNECTIONS = 16;

/** As `oauth4webapi` asks for it. */
interface ProviderRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** What {@link ProviderHttp} gives to `oauth4webapi` in place of `fetch`. */
export type ProviderFetch = (url: string, request?: ProviderRequest) => Promise<Response>;

/** HTTP with authorization servers, whose addresses servers name: bounded in size, depth and time, and no redirect is followed. */
export class ProviderHttp {
  readonly #http: GuardedHttpClient;
  readonly #timeout: number;

  /** @throws {GatewayError} `invalid` for an entry of `allowedAddresses` that is no host, address or network */
  constructor({ allowedAddresses, timeout }: OauthClientOptions) {
    this.#timeout = timeout;
    this.#http = new GuardedHttpClient({
      allowedAddresses,
      option: "plugins.oauth-client.allowedAddresses",
      maxResult: MAX_DOCUMENT,
      connections: MAX_CONNECTIONS,
      fault: providerFault,
    });
  }

  /** @param chosen URLs that the operator wrote */
  from(chosen: readonly URL[]): ProviderFetch {
    return async (url, request = {}) => {
      if (!URL.canParse(url)) throw providerFault("it names an address that is not a URL");
      const signal = timeoutSignal(this.#timeout);
      try {
        return await this.#send(new URL(url), chosen, request, signal);
      } catch (error) {
        throw signal.aborted ? providerFault("it does not answer in time", error) : error;
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
    checkDepth(bytes);
    // A body belongs to none of the others, and a Response refuses it there.
    const isPlain = reply.status >= 200 && ![204, 205, 304].includes(reply.status);
    const challenge = reply.header("www-authenticate");
    return new Response(isPlain ? bytes : null, {
      status: Math.max(reply.status, 200),
      headers: {
        "content-type": reply.header("content-type"),
        ...(challenge !== "" && { "www-authenticate": challenge }),
      },
    });
  }
}

/** What is no JSON is refused by whoever reads it; what nests too deep must not get that far. */
function checkDepth(bytes: Buffer): void {
  try {
    parseInexact(bytes, MAX_DEPTH);
  } catch (error) {
    if (isGatewayError(error) && error.data?.["reason"] === "depth")
      throw providerFault("its answer nests too deep", error);
  }
}
