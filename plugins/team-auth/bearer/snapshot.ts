import type { Json } from "propylon";
import type { KeyObject } from "node:crypto";
import type { KeyAlgorithm, Tables } from "../tables/tables.ts";

/** An opaque token that is active. */
export interface TokenScope {
  readonly id: string;
  readonly user: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly libraries: readonly string[];
}

/** A user, who has tokens, and may log in. */
export interface UserScope {
  readonly id: string;
  readonly active: boolean;
  /** Of its memberships, each once, in the order of their names. */
  readonly libraries: readonly string[];
}

/** A team with what it may see. */
export interface TeamScope {
  readonly id: string;
  readonly active: boolean;
  readonly jti: string | null;
  /** The token before it, while that still counts; the time is in milliseconds since 1970. */
  readonly former: { readonly jti: string; readonly until: number } | undefined;
  readonly workspaces: readonly string[];
}

/** Whether a token of a team counts: the present one, or the previous one within its grace. */
export function isTeamToken({ jti, former }: TeamScope, asked: string): boolean {
  return jti === asked || (former?.jti === asked && Date.now() < former.until);
}

/** A key that verifies. */
export interface VerifyingKey {
  readonly kid: string;
  readonly alg: KeyAlgorithm;
  readonly key: KeyObject | Uint8Array;
  readonly jwk: Json | undefined;
}

/** A service account as it logs in. */
export type AccountLogin = Pick<Tables["service_account"], "name" | "password" | "active">;

/** Nothing: of a team without workspaces, and of everybody else's principals. */
export const NO_LIBRARIES: readonly string[] = Object.freeze([]);

/** What decides about bearers, as it was at an epoch; requests look into this and nowhere else. */
export class AccessSnapshot {
  epoch = 0;
  readonly users = new Map<string, UserScope>();
  readonly teams = new Map<string, TeamScope>();
  readonly keys = new Map<string, VerifyingKey>();
  readonly accounts = new Map<string, AccountLogin>();
  readonly #tokens = new Map<string, TokenScope>();
  readonly #hashes = new Map<string, string>();
  readonly #workspaces = new Map<string, string>();
  readonly #libraries = new Map<string, Set<string>>();
  /** Computed when first asked for; emptied when a library moves. */
  #sets = new WeakMap<TeamScope, readonly string[]>();

  /** Whether a user is switched off. */
  isOff(user: string): boolean {
    return this.users.get(user)?.active === false;
  }

  tokenByHash(hash: string): TokenScope | undefined {
    return this.#tokens.get(hash);
  }

  tokenById(id: string): TokenScope | undefined {
    return this.#tokens.get(this.#hashes.get(id) ?? "");
  }

  /** @param scope `undefined`: the token is gone or switched off */
  setToken(id: string, hash: string, scope: TokenScope | undefined): void {
    const before = this.#hashes.get(id);
    if (before !== undefined) this.#tokens.delete(before);
    if (!scope) return void this.#hashes.delete(id);
    this.#hashes.set(id, hash);
    this.#tokens.set(hash, scope);
  }

  /** @param workspace `undefined`: of none, or the library is gone */
  setLibrary(uid: string, workspace: string | undefined): void {
    const before = this.#workspaces.get(uid);
    if (before === workspace) return;
    if (before !== undefined) this.#libraries.get(before)?.delete(uid);
    this.#sets = new WeakMap();
    if (workspace === undefined) return void this.#workspaces.delete(uid);
    this.#workspaces.set(uid, workspace);
    const libraries = this.#libraries.get(workspace) ?? new Set();
    this.#libraries.set(workspace, libraries.add(uid));
  }

  /** Every library of every workspace of a team, each once, in the order of their names. */
  librariesOf(team: TeamScope): readonly string[] {
    const known = this.#sets.get(team);
    if (known) return known;
    const all = new Set(team.workspaces.flatMap((each) => [...(this.#libraries.get(each) ?? [])]));
    const set = all.size === 0 ? NO_LIBRARIES : Object.freeze([...all].toSorted());
    this.#sets.set(team, set);
    return set;
  }
}
