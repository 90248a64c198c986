import { GatewayError } from "propylon";
import { AllowedAddresses, timeoutSignal } from "propylon/kit";
import type { Resolve } from "propylon/internal";
import type { Agent } from "undici";

/** Longest URL that is taken. */
const MAX_URL = 2_048;
/** How much of an answer is read so that its connection can be used again, in bytes. */
const MAX_ANSWER = 64 * 1024;

/** What one delivery sends. */
export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * Posts to URLs that strangers chose. A name is resolved once and the connection goes to that very address, so that a
 * resolver that answers differently the second time gains nothing; redirects are not followed.
 */
export class Webhooks {
  readonly #addresses: AllowedAddresses;
  readonly #resolve: Resolve | undefined;
  readonly #timeout: number;
  /** Opened for the first delivery. */
  #agent: Promise<Agent> | undefined;
  #isClosed = false;

  /** @throws {GatewayError} `invalid` for a wrong entry of `allow` */
  constructor(
    { allow, timeout }: { readonly allow: readonly string[]; readonly timeout: number },
    resolve?: Resolve,
  ) {
    this.#addresses = new AllowedAddresses(allow, "push.allow");
    this.#timeout = timeout;
    this.#resolve = resolve;
  }

  /**
   * Checks what can be known of a URL before its name is resolved.
   * @throws {GatewayError} `invalid`
   */
  check(url: string): URL {
    const parsed = url.length <= MAX_URL && URL.canParse(url) ? new URL(url) : undefined;
    if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:")
      throw refusal("The URL for push notifications must be an http or https URL.");
    if (parsed.username !== "" || parsed.password !== "")
      throw refusal("The URL for push notifications must not hold credentials.");
    if (!this.#addresses.permitsUrl(parsed)) throw notPublic();
    return parsed;
  }

  /**
   * Posts once.
   * @returns the status of the answer, which may be that of a failure or redirect
   * @throws {GatewayError} `invalid` for an address that must not be connected to; whatever undici throws
   */
  async post({ url, headers, body, signal }: WebhookRequest): Promise<number> {
    // An address needs no lookup, so it would pass by the guard there.
    const target = this.check(url);
    const dispatcher = await this.#connected();
    const { request } = await import("undici");
    const response = await request(target, {
      method: "POST",
      headers: { ...headers },
      body,
      dispatcher,
      signal: AbortSignal.any([signal, timeoutSignal(this.#timeout)]),
    });
    await response.body.dump({ limit: MAX_ANSWER });
    return response.statusCode;
  }

  /** What could not be loaded, as with too many files open, is tried again by the next. */
  async #connected(): Promise<Agent> {
    if (this.#isClosed) throw new GatewayError("unavailable", "The webhooks are closed.");
    const agent = (this.#agent ??= this.#open());
    try {
      return await agent;
    } catch (error) {
      if (this.#agent === agent) this.#agent = undefined;
      throw error;
    }
  }

  /** Ends every connection. What is posted later fails: other options are in force. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#agent?.then(
      (agent) => agent.destroy(),
      () => {},
    );
  }

  async #open(): Promise<Agent> {
    const { Agent: UndiciAgent } = await import("undici");
    const connect = {
      lookup: this.#addresses.guard(notPublic, this.#resolve),
      timeout: this.#timeout,
    };
    return new UndiciAgent({ connect, keepAliveTimeout: 10_000 });
  }
}

function notPublic(): GatewayError {
  return refusal("The URL for push notifications does not lead to a public address.");
}

function refusal(message: string): GatewayError {
  return new GatewayError("invalid", message, {
    hint: "Give a public https URL, or have the operator allow the host in push.allow.",
  });
}
