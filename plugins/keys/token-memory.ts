import type { GatewayError } from "propylon";
import { ExpiringMap } from "propylon/internal";

/** Maximum tokens of a kind that are remembered. */
const MAX_TOKENS = 10_000;
/** The clock may have been wrong. */
const OVER_MS = 60_000;

/**
 * What was found out about tokens, by their digests: a signature is checked once and not with every call, also that of a token which is
 * over, whose program may go on with it.
 *
 * @example
 * const known = memory.find(digestOf(token));
 * if (known instanceof GatewayError) throw known;
 * if (!known) memory.keep(digestOf(token), principal, expiresAt);
 */
export class TokenMemory<T extends object> {
  readonly #known = new ExpiringMap<T>(MAX_TOKENS);
  readonly #over = new ExpiringMap<GatewayError>(MAX_TOKENS);

  /** What a token was found to be; the refusal of one that is over. */
  find(digest: string): T | GatewayError | undefined {
    return this.#known.get(digest) ?? this.#over.get(digest);
  }

  /** @param until in milliseconds since 1970 */
  keep(digest: string, value: T, until: number): void {
    this.#known.set(digest, value, until);
  }

  /** Remembers for a minute that a token is over. */
  keepOver(digest: string, refusal: GatewayError): void {
    this.#over.set(digest, refusal, Date.now() + OVER_MS);
  }
}
