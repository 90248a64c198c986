import type { GatewayError } from "propylon";
import { ExpiringMap } from "propylon/internal";

/** Maximum tokens of a kind that are remembered; at the bound those of the holder with the most go first. */
const MAX_TOKENS = 10_000;
/** The clock may have been wrong. */
const OVER_MS = 60_000;

/** How long what was found out about a token counts, and whose token it is. */
export interface Remembrance {
  /** In milliseconds since 1970. */
  readonly until: number;
  /** Whom it is about: who has thousands of tokens made must not push out those of others. */
  readonly holder: string;
  /** Whether what it was decided by is as it was, e.g. the keys of its issuer; default: that does not change. */
  readonly isCurrent?: (() => boolean) | undefined;
}

interface Known<T> {
  readonly value: T;
  readonly isCurrent: Remembrance["isCurrent"];
}

/**
 * What was found out about tokens, by their digests: a signature is checked once and not with every call, also that of a token which is
 * over, whose program may go on with it.
 *
 * @example
 * const known = memory.find(digestOf(token));
 * if (known instanceof GatewayError) throw known;
 * if (!known) memory.keep(digestOf(token), principal, { until: expiresAt, holder: principal.ref });
 */
export class TokenMemory<T extends object> {
  readonly #known = new ExpiringMap<Known<T>>(MAX_TOKENS);
  readonly #over = new ExpiringMap<GatewayError>(MAX_TOKENS);

  /** What a token was found to be, as long as that would be found again; the refusal of one that is over. */
  find(digest: string): T | GatewayError | undefined {
    const known = this.#known.get(digest);
    if (known && known.isCurrent?.() !== false) return known.value;
    return this.#over.get(digest);
  }

  /** Remembers what a token was found to be. */
  keep(digest: string, value: T, { until, holder, isCurrent }: Remembrance): void {
    this.#known.set(digest, { value, isCurrent }, until, holder);
  }

  /** Remembers for a minute that a token is over. */
  keepOver(digest: string, refusal: GatewayError): void {
    this.#over.set(digest, refusal, Date.now() + OVER_MS);
  }
}
