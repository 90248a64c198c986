import type { Identity, Json, Principal, Role } from "propylon";
import { digestOf } from "propylon/kit";
import { ExpiringMap } from "propylon/internal";
import { storeKey } from "propylon/store";
import type { ReplayGuard } from "./replay.ts";
import {
  type JwtRules,
  verifyingKeyOf,
  readJwtHead,
  type TeamClaims,
  type TurnClaims,
  verifyJwt,
} from "./jwt.ts";
import { away, RefusedBearer } from "../refusals.ts";
import type { Replica } from "./replica.ts";
import {
  isTeamToken,
  NO_LIBRARIES,
  type TeamScope,
  type TokenScope,
  type UserScope,
  type VerifyingKey,
} from "./snapshot.ts";
import { TOKEN_PREFIX } from "../directory/tokens.ts";

/** Tokens whose signature was checked that are remembered; beyond, the oldest is checked again. */
const MAX_VERIFIED = 20_000;
const ROLES: ReadonlySet<Role> = new Set(["caller"]);

/** What a principal of ours was let in with: a token by its id, a JWT by its `jti` and the key that signed it, or a login as a user. No secret. */
export type Credential =
  | { readonly kind: "token"; readonly id: string }
  /** A user whom another plugin let in. */
  | { readonly kind: "login"; readonly id: string }
  | { readonly kind: "team"; readonly id: string; readonly key: string; readonly team: string }
  | { readonly kind: "turn"; readonly id: string; readonly key: string };

/** What {@link Resolver} needs. */
export interface ResolverParts {
  readonly replica: Pick<Replica, "snapshot" | "isCurrent" | "becomeCurrent">;
  readonly replay: ReplayGuard;
  readonly rules: JwtRules;
  /** Told of every use of an opaque token. */
  readonly used: (token: string) => void;
}

/** A team token that is genuine, and who it makes its bearer as long as nothing changes. */
interface VerifiedTeam {
  readonly claims: TeamClaims;
  readonly key: VerifyingKey;
  identity: Identity | undefined;
}

/** Who a bearer is, and what it may see: looked up in the snapshot with every request. */
export class Resolver {
  readonly #parts: ResolverParts;
  readonly #verified = new ExpiringMap<VerifiedTeam>(MAX_VERIFIED);
  readonly #identities = new WeakMap<TokenScope, Identity>();
  readonly #logins = new WeakMap<UserScope, Json>();

  constructor(parts: ResolverParts) {
    this.#parts = parts;
  }

  /**
   * @param hash its digest, where that is known
   * @returns `undefined` for a bearer that may be somebody else's
   * @throws {RefusedBearer} for one that is ours and wrong
   * @throws {GatewayError} `unavailable` while nobody knows who may see what
   */
  resolve(
    token: string,
    hash = digestOf(token),
  ): Identity | undefined | Promise<Identity | undefined> {
    return this.#whenCurrent(() => this.#resolve(token, hash));
  }

  /**
   * Somebody whom another plugin let in, with what the user of that id may see; as it came where there is none.
   *
   * @throws {RefusedBearer} for a user who is switched off
   * @throws {GatewayError} `unavailable` while nobody knows who may see what
   */
  adopt(identity: Identity): Identity | Promise<Identity> {
    return this.#whenCurrent(() => this.#adopt(identity));
  }

  /** Whether what somebody was let in with does not count any more. Principals of others are not ours to judge. */
  isDead(principal: Principal): boolean {
    const credential = credentialOf(principal);
    return credential !== undefined && this.#setOf(principal, credential) === undefined;
  }

  /**
   * What a principal sees now, however long ago it was let in.
   *
   * @throws {GatewayError} `unavailable` while nobody knows who may see what
   */
  librariesOf(principal: Principal): readonly string[] {
    const credential = credentialOf(principal);
    if (!credential) return NO_LIBRARIES;
    if (!this.#parts.replica.isCurrent) throw away();
    return this.#setOf(principal, credential) ?? NO_LIBRARIES;
  }

  /** @returns `undefined` for a credential that does not count any more */
  #setOf({ claims }: Principal, credential: Credential): readonly string[] | undefined {
    const { snapshot } = this.#parts.replica;
    if (credential.kind === "token") {
      const scope = snapshot.tokenById(credential.id);
      return scope && !snapshot.isOff(scope.user) ? scope.libraries : undefined;
    }
    if (credential.kind === "login") {
      const user = snapshot.users.get(credential.id);
      return user?.active === true ? user.libraries : undefined;
    }
    if (!snapshot.keys.has(credential.key)) return undefined;
    if (credential.kind === "turn") return claims!["libraries"] as readonly string[];
    const team = snapshot.teams.get(credential.team);
    return team?.active && isTeamToken(team, credential.id)
      ? snapshot.librariesOf(team)
      : undefined;
  }

  #whenCurrent<T>(work: () => T | Promise<T>): T | Promise<T> {
    const { replica } = this.#parts;
    if (replica.isCurrent) return work();
    return replica.becomeCurrent().then((isCurrent) => {
      if (!isCurrent) throw away();
      return work();
    });
  }

  #adopt(identity: Identity): Identity {
    const { id, kind, claims } = identity;
    const user = kind === "user" ? this.#parts.replica.snapshot.users.get(id) : undefined;
    if (!user) return identity;
    if (!user.active) throw new RefusedBearer("user_disabled");
    let own = this.#logins.get(user);
    if (!own) this.#logins.set(user, (own = claimsOf({ kind: "login", id }, user.libraries)));
    return { ...identity, claims: { ...claims, ...own } };
  }

  #resolve(token: string, hash: string): Identity | undefined | Promise<Identity | undefined> {
    const verified = this.#verified.get(hash);
    if (verified && this.#isSigned(verified)) return this.#admitTeam(verified);
    const scope = this.#parts.replica.snapshot.tokenByHash(hash);
    if (scope) return this.#admitToken(scope);
    const head = readJwtHead(token);
    if (head) return this.#readJwt(token, hash, verifyingKeyOf(head, this.#parts.replica.snapshot));
    if (token.startsWith(TOKEN_PREFIX)) throw new RefusedBearer("unknown_token");
    return undefined;
  }

  /** Whether the key that signed it still counts. */
  #isSigned({ key }: VerifiedTeam): boolean {
    return this.#parts.replica.snapshot.keys.get(key.kid) === key;
  }

  #admitToken(scope: TokenScope): Identity {
    const { id, user, expiresAt, libraries } = scope;
    if (expiresAt !== undefined && expiresAt <= Date.now())
      throw new RefusedBearer("token_expired");
    if (this.#parts.replica.snapshot.isOff(user)) throw new RefusedBearer("user_disabled");
    this.#parts.used(id);
    let identity = this.#identities.get(scope);
    if (!identity) {
      identity = identify({ id: user, kind: "user" }, { kind: "token", id }, libraries, expiresAt);
      this.#identities.set(scope, identity);
    }
    return identity;
  }

  async #readJwt(
    token: string,
    hash: string,
    key: VerifyingKey | undefined,
  ): Promise<Identity | undefined> {
    if (!key) return undefined;
    const { rules, replica } = this.#parts;
    const claims = await verifyJwt(token, key, rules);
    // It may have been retired meanwhile.
    if (replica.snapshot.keys.get(key.kid) !== key) throw new RefusedBearer("unknown_key");
    if (claims.kind === "turn") return this.#admitTurn(claims, key);
    const verified: VerifiedTeam = { claims, key, identity: undefined };
    const identity = this.#admitTeam(verified);
    this.#verified.set(hash, verified, claims.expiresAt);
    return identity;
  }

  #admitTeam(verified: VerifiedTeam): Identity {
    const { claims, key } = verified;
    const team = this.#teamOf(claims);
    const libraries = this.#parts.replica.snapshot.librariesOf(team);
    const known = verified.identity;
    if (known?.claims?.["libraries"] === libraries) return known;
    const credential: Credential = { kind: "team", id: claims.jti, key: key.kid, team: team.id };
    const who = { id: team.id, kind: "team" } as const;
    verified.identity = identify(who, credential, libraries, claims.expiresAt);
    return verified.identity;
  }

  #teamOf({ team: id, jti }: TeamClaims): TeamScope {
    const team = this.#parts.replica.snapshot.teams.get(id);
    if (!team) throw new RefusedBearer("unknown_team");
    if (!team.active) throw new RefusedBearer("team_inactive");
    if (!isTeamToken(team, jti)) throw new RefusedBearer("stale_jti");
    return team;
  }

  async #admitTurn(claims: TurnClaims, key: VerifyingKey): Promise<Identity> {
    const { subject, workspace, jti, expiresAt, libraries } = claims;
    if (!(await this.#parts.replay.use(jti, expiresAt))) throw new RefusedBearer("replayed");
    // Workspaces of one console do not see each other's results.
    const parts = workspace === undefined ? [subject] : [subject, workspace];
    const who = { id: storeKey(...parts), kind: "service" } as const;
    return identify(who, { kind: "turn", id: jti, key: key.kid }, libraries, expiresAt);
  }
}

/** What a principal of this plugin was let in with. */
export function credentialOf({ claims }: Pick<Principal, "claims">): Credential | undefined {
  const credential = claims?.["credential"];
  return isOurs.has(credential as object) ? (credential as Credential) : undefined;
}

/** Other authenticators may write claims of the same names. */
const isOurs = new WeakSet<object>();

/** What this plugin says of a principal. */
function claimsOf(credential: Credential, libraries: readonly string[]): Json {
  isOurs.add(Object.freeze(credential));
  return Object.freeze({ libraries, credential });
}

function identify(
  who: Pick<Identity, "id" | "kind">,
  credential: Credential,
  libraries: readonly string[],
  expiresAt: number | undefined,
): Identity {
  const claims = claimsOf(credential, libraries);
  return { ...who, roles: ROLES, claims, ...(expiresAt !== undefined && { expiresAt }) };
}
