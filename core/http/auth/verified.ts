import type { Principal } from "../../call/types.ts";

const MAX_TOKENS = 10_000;
/** A key that was withdrawn from its set is trusted no longer than this. */
const MAX_AGE_MS = 300_000;

/** Tokens whose signature was checked, by digest, so that it is checked once and not with every call. Bounded: the oldest goes. */
export class VerifiedTokens {
  readonly #known = new Map<string, { readonly principal: Principal; readonly until: number }>();

  /** Who the token is about, while that is known and the token lives. */
  find(digest: string): Principal | undefined {
    const entry = this.#known.get(digest);
    if (entry === undefined) return undefined;
    if (Date.now() < entry.until) return entry.principal;
    this.#known.delete(digest);
    return undefined;
  }

  /** @param expires end of the token's life in milliseconds since 1970 */
  remember(digest: string, principal: Principal, expires: number): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_TOKENS && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(digest, { principal, until: Math.min(expires, Date.now() + MAX_AGE_MS) });
  }
}
