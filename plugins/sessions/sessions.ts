import { GatewayError, type Principal } from "propylon";
import { createPrincipal, digestOf } from "propylon/kit";
import { createSecret, hasChecksum, PERSON_ROLES } from "propylon/internal";
import type { SessionsOptions } from "./options.ts";
import type { NewSession } from "./service.ts";

/** How long a code is valid, and how many codes there may be. */
const CODE_MS = 60_000;
const MAX_CODES = 10;

/** Who comes by a code: the person who started the gateway. No authenticator makes this one. */
const STARTER = createPrincipal({
  id: "sign-in-link",
  kind: "service",
  roles: new Set(PERSON_ROLES),
});

/** One browser that signed in. */
export interface BrowserSession {
  /** For logs and claims; tells nothing of the secret. */
  readonly id: string;
  readonly ref: string;
  /** Name of the cookie that it came with: under another name the secret does not count. */
  readonly cookie: string;
  readonly authorization: string | undefined;
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** As `performance.now()`. */
  usedAt: number;
}

/** Sessions by the digest of their secret, which nobody but the browser has. In memory: a restart signs everybody out. */
export class BrowserSessions {
  readonly #sessions = new Map<string, BrowserSession>();
  /** Until when each code is good, by its digest; as `performance.now()`. */
  readonly #codes = new Map<string, number>();
  /** Ends what a session has open. */
  onEnd: (session: BrowserSession) => void = () => {};

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Opens one; the oldest of its principal makes room.
   * @returns the secret for the cookie
   * @throws {GatewayError} `rate_limited` when there are as many as there may be
   */
  open(
    { principal, authorization }: NewSession,
    cookie: string,
    { maxAge, maxSessions, maxPerPrincipal }: SessionsOptions,
  ): { readonly secret: string; readonly session: BrowserSession } {
    const { ref } = principal;
    const own = [...this.#sessions].filter(([, session]) => session.ref === ref);
    for (const [key] of own.slice(0, Math.max(0, own.length - maxPerPrincipal + 1))) this.#end(key);
    if (this.#sessions.size >= maxSessions)
      throw new GatewayError("rate_limited", "There are too many sessions.", {
        hint: "Try again later, or raise plugins.sessions.maxSessions.",
        headers: { "retry-after": "60" },
      });
    const secret = createSecret("pps");
    const session: BrowserSession = {
      id: digestOf(`id ${secret}`).slice(0, 16),
      ref,
      cookie,
      authorization,
      principal,
      expiresAt: Math.min(Date.now() + maxAge, principal.expiresAt ?? Number.POSITIVE_INFINITY),
      usedAt: performance.now(),
    };
    this.#sessions.set(digestOf(secret), session);
    return { secret, session };
  }

  /** The session of a cookie; it is used now. */
  use(cookie: string, secret: string, idleTimeout: number): BrowserSession | undefined {
    if (!hasChecksum(secret)) return undefined;
    const key = digestOf(secret);
    const session = this.#sessions.get(key);
    if (!session || session.cookie !== cookie) return undefined;
    if (isOver(session, idleTimeout)) {
      this.#end(key);
      return undefined;
    }
    session.usedAt = performance.now();
    return session;
  }

  /** Ends those that match; how many that were. */
  end(match: (session: BrowserSession) => boolean): number {
    const keys = [...this.#sessions].filter(([, session]) => match(session));
    for (const [key] of keys) this.#end(key);
    return keys.length;
  }

  /** Ends those whose time is over, with the streams that they have open. */
  sweep(idleTimeout: number): void {
    this.end((session) => isOver(session, idleTimeout));
  }

  createCode(): string {
    const [oldest] = this.#codes.keys();
    if (this.#codes.size >= MAX_CODES && oldest !== undefined) this.#codes.delete(oldest);
    const code = createSecret("ppl_link");
    this.#codes.set(digestOf(code), performance.now() + CODE_MS);
    return code;
  }

  /**
   * Takes a code, once.
   * @throws {GatewayError} `unauthorized`
   */
  takeCode(code: string): Principal {
    const key = digestOf(code);
    const until = this.#codes.get(key) ?? 0;
    this.#codes.delete(key);
    if (performance.now() < until) return STARTER;
    throw new GatewayError("unauthorized", "The link was used already, or is older than 60 s.", {
      hint: "Press Enter in the terminal of the gateway for a new link, or sign in with a key.",
    });
  }

  #end(key: string): void {
    const session = this.#sessions.get(key);
    if (!session) return;
    this.#sessions.delete(key);
    this.onEnd(session);
  }
}

function isOver({ usedAt, expiresAt }: BrowserSession, idleTimeout: number): boolean {
  return Date.now() >= expiresAt || performance.now() - usedAt >= idleTimeout;
}

/** What a principal is told by, where it is only the session that ended. */
export const SESSION_OVER = "The session has ended.";

/** Whether somebody came by a session. */
export function sessionOf({ claims }: Pick<Principal, "claims">): string | undefined {
  const id = claims?.["session"];
  return typeof id === "string" ? id : undefined;
}
