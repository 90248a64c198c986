import { createHash, randomBytes } from "node:crypto";
import { FairQuota } from "propylon/kit";
import type { Kv, Unsubscribe } from "propylon/store";
import { z } from "zod";
import { OauthError } from "../oauth-error.ts";
import type { OpaqueTexts } from "../opaque.ts";
import { type LoggedIn, personSchema } from "../people/person.ts";

/** Logins of one person; beyond, the oldest ends. */
const MAX_PER_PERSON = 50;
/** Logins in all. */
const MAX_GRANTS = 100_000;
/** Longest life of an access token and the tolerance of clocks, with some to spare: so long a withdrawn login is remembered. */
export const REVOKED_MS = 3_600_000 + 300_000;

/** Schema of a login, as it is stored. */
export const grantSchema = z.object({
  client: z.string(),
  clientName: z.string(),
  /** Whether the program proves itself with a key. */
  isKeyed: z.boolean().optional(),
  person: personSchema,
  scopes: z.array(z.string()).max(1_000),
  resource: z.string(),
  createdAt: z.number(),
  usedAt: z.number(),
  /** When the person has to log in again, in milliseconds since 1970. */
  until: z.number(),
  /** Number of the refresh token that counts. */
  turn: z.number(),
  /** When it became so. */
  turnedAt: z.number(),
});

/** A person's login with a program: a family of refresh tokens, of which one counts. */
export type Grant = z.infer<typeof grantSchema>;

/** A login with its id. */
export interface KnownGrant extends Grant {
  readonly id: string;
}

/** A login that goes on. */
export interface ContinuedGrant {
  readonly grant: KnownGrant;
  readonly refreshToken: string;
}

/** What logins are made of. */
export interface GrantParts {
  readonly kv: Kv<Grant>;
  /** Ids of logins that were withdrawn of late. */
  readonly revoked: Kv<string>;
  readonly tokens: OpaqueTexts;
  /** In milliseconds. */
  readonly login: number;
  readonly reuseGrace: number;
  /** Told, on every replica, that a login has ended before its time. */
  readonly onRevoked: (id: string, reason: string) => void;
}

/**
 * Logins, and the refresh tokens that continue them. Each use makes the next token and ends the previous one (RFC 9700 section 4.14);
 * one that is used twice was stolen from one of the two, so the login ends. Tokens are authenticated and not stored: a copy of the
 * store does not open anything.
 */
export class Grants {
  readonly #parts: GrantParts;
  readonly #revoked = new Map<string, number>();
  readonly #people = new FairQuota();
  readonly #known = new Map<string, string>();

  constructor(parts: GrantParts) {
    this.#parts = parts;
  }

  /** How many there are. */
  get size(): number {
    return this.#known.size;
  }

  /** Learns of those that are there, and of what other replicas do. */
  async open(): Promise<Unsubscribe> {
    const { kv, revoked, onRevoked } = this.#parts;
    const stops = await Promise.all([
      revoked.watch("", (id, entry) => {
        if (!entry || this.#revoked.has(id)) return;
        this.#revoked.set(id, Date.now() + REVOKED_MS);
        onRevoked(id, entry.value);
      }),
      kv.watch("", (id, entry) => (entry ? this.#note(id) : this.#forget(id))),
    ]);
    return async () => {
      for (const stop of stops) await stop();
    };
  }

  /** Whether the access tokens of a login count. */
  isLive(id: string): boolean {
    return !this.#revoked.has(id);
  }

  /** An id for a login that a code may begin; it tells whose it is, and nothing more. */
  nextId({ subject }: LoggedIn): string {
    return `${personKey(subject)}${randomBytes(16).toString("base64url")}`;
  }

  /** Begins a login. @throws {OauthError} `temporarily_unavailable` where there are too many */
  async begin(
    id: string,
    begun: Omit<Grant, "createdAt" | "usedAt" | "until" | "turn" | "turnedAt">,
  ): Promise<ContinuedGrant> {
    if (this.#known.size >= MAX_GRANTS) throw full();
    await this.#makeRoom(begun.person.subject);
    const now = Date.now();
    const grant: Grant = {
      ...begun,
      createdAt: now,
      usedAt: now,
      until: now + this.#parts.login,
      turn: 0,
      turnedAt: now,
    };
    this.#note(id);
    await this.#parts.kv.put(id, grant);
    return this.#continued(id, grant);
  }

  /**
   * Continues a login.
   *
   * @param check refuses, before anything changes
   * @throws {OauthError} `invalid_grant` for a token that does not count; where it was used before the login ends
   */
  async refresh(token: string, check: (grant: KnownGrant) => void): Promise<ContinuedGrant> {
    const { id, turn } = this.#read(token);
    let isReused = false;
    const grant = await this.#parts.kv.change(id, (before) => {
      if (!before || before.until <= Date.now() || !this.isLive(id)) throw over();
      check({ id, ...before });
      isReused = turn !== before.turn;
      const now = Date.now();
      return isReused ? before : { ...before, turn: turn + 1, turnedAt: now, usedAt: now };
    });
    return isReused ? this.#reuse(id, turn, grant!) : this.#continued(id, grant!);
  }

  /** The login of a refresh token, whether or not that is the one that counts. */
  async find(token: string): Promise<KnownGrant | undefined> {
    const [id] = this.#parts.tokens.read(token) ?? [];
    return id === undefined ? undefined : this.get(id);
  }

  async get(id: string): Promise<KnownGrant | undefined> {
    const entry = await this.#parts.kv.get(id);
    return entry && { id, ...entry.value };
  }

  /** All of them, or those of one person. */
  async *list(subject?: string): AsyncIterable<KnownGrant> {
    const prefix = subject === undefined ? "" : personKey(subject);
    for await (const { key, value } of this.#parts.kv.list(prefix))
      if (subject === undefined || value.person.subject === subject) yield { id: key, ...value };
  }

  /** Ends a login: its refresh tokens, its access tokens, and what is open on them, on every replica. */
  async revoke(id: string, reason: string): Promise<boolean> {
    const { kv, revoked, onRevoked } = this.#parts;
    await revoked.put(id, reason);
    if (!this.#revoked.has(id)) {
      this.#revoked.set(id, Date.now() + REVOKED_MS);
      onRevoked(id, reason);
    }
    this.#forget(id);
    return kv.delete(id);
  }

  /** Forgets what is over. */
  async tidy(): Promise<void> {
    const now = Date.now();
    for (const [id, until] of this.#revoked) if (until <= now) this.#revoked.delete(id);
    const known = [...this.#known.keys()];
    const there = new Set<string>();
    for await (const { key } of this.#parts.kv.list()) there.add(key);
    for (const id of known) if (!there.has(id)) this.#forget(id);
  }

  #read(token: string): { readonly id: string; readonly turn: number } {
    const [id, turn] = this.#parts.tokens.read(token) ?? [];
    if (id === undefined || turn === undefined) throw over();
    return { id, turn: parseInt(turn, 36) };
  }

  async #reuse(id: string, turn: number, grant: Grant): Promise<ContinuedGrant> {
    const isLast = turn === grant.turn - 1;
    if (isLast && Date.now() - grant.turnedAt < this.#parts.reuseGrace)
      return this.#continued(id, grant);
    await this.revoke(id, REUSED);
    throw over(REUSED);
  }

  #continued(id: string, grant: Grant): ContinuedGrant {
    const refreshToken = this.#parts.tokens.make(id, grant.turn.toString(36));
    return { grant: { id, ...grant }, refreshToken };
  }

  async #makeRoom(subject: string): Promise<void> {
    if (this.#people.of(personKey(subject)) < MAX_PER_PERSON) return;
    const own: KnownGrant[] = [];
    for await (const grant of this.list(subject)) own.push(grant);
    const oldest = own
      .toSorted((a, b) => a.usedAt - b.usedAt)
      .slice(0, own.length - MAX_PER_PERSON + 1);
    for (const { id } of oldest)
      await this.revoke(id, "There were too many logins of this person.");
  }

  #note(id: string): void {
    if (this.#known.has(id)) return;
    const person = id.slice(0, PERSON_KEY);
    this.#known.set(id, person);
    this.#people.add(person);
  }

  #forget(id: string): void {
    const person = this.#known.get(id);
    if (person === undefined) return;
    this.#known.delete(id);
    this.#people.remove(person);
  }
}

const REUSED = "A refresh token was used twice, so it may be stolen: the login has ended.";
const PERSON_KEY = 11;

/** Begins the keys of a person's logins. */
function personKey(subject: string): string {
  return createHash("sha256").update(subject).digest("base64url").slice(0, PERSON_KEY);
}

function over(
  reason = "The login is over, or the refresh token does not count any more.",
): OauthError {
  return new OauthError("invalid_grant", reason);
}

function full(): OauthError {
  return new OauthError(
    "temporarily_unavailable",
    "Nobody can log in at the moment: there are too many logins.",
    {
      status: 503,
      retryAfter: 60,
    },
  );
}
