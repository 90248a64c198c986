import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import type { Json } from "propylon";
import { readEpoch } from "../directory/changes.ts";
import type { Seal } from "../directory/signing-keys.ts";
import { NO_LIBRARIES, AccessSnapshot, type TeamScope, type VerifyingKey } from "./snapshot.ts";
import type { Database, Tables } from "../tables/tables.ts";

/** Beyond so many changes everything is read again. */
const MAX_CHANGES = 5_000;
/** Values in one condition: both databases take more. */
const BATCH = 500;

type Keys = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the tables into snapshots. */
export class Loader {
  readonly #db: Database;
  readonly #seal: Seal;

  constructor(db: Database, seal: Seal) {
    this.#db = db;
    this.#seal = seal;
  }

  /** Everything. The epoch is read first: what changes meanwhile is read again with the next change. */
  async load(): Promise<AccessSnapshot> {
    const snapshot = new AccessSnapshot();
    const epoch = await readEpoch(this.#db);
    for (const read of Object.values(this.#readers)) (await read(undefined))(snapshot);
    snapshot.epoch = epoch;
    return snapshot;
  }

  /**
   * What changed since a snapshot, as a function that changes it at once.
   *
   * @returns `undefined` when everything has to be read again
   */
  async since({
    epoch,
  }: AccessSnapshot): Promise<((snapshot: AccessSnapshot) => void) | undefined> {
    const changed = await this.#changedSince(epoch);
    if (!changed) return undefined;
    const reads = [...changed.keys].flatMap(([kind, ids]) => this.#read(kind, [...ids]));
    const applied = await Promise.all(reads);
    return (snapshot) => {
      for (const apply of applied) apply(snapshot);
      snapshot.epoch = changed.epoch;
    };
  }

  #read(
    kind: string,
    ids: readonly string[],
  ): readonly Promise<(snapshot: AccessSnapshot) => void>[] {
    const read = this.#readers[kind];
    const reads: Promise<(snapshot: AccessSnapshot) => void>[] = [];
    for (let begin = 0; read && begin < ids.length; begin += BATCH)
      reads.push(read(ids.slice(begin, begin + BATCH)));
    return reads;
  }

  /** One statement: the maker of a change waits for it at every gateway. */
  async #changedSince(
    epoch: number,
  ): Promise<{ readonly epoch: number; readonly keys: Keys } | undefined> {
    const meta = (name: "epoch" | "trimmed") =>
      this.#db.selectFrom("meta").select("value").where("name", "=", name).as(name);
    const rows = await this.#db
      .selectFrom("meta")
      .leftJoin("change", (join) => join.on("change.epoch", ">", epoch))
      .select(["kind", "key", meta("epoch"), meta("trimmed")])
      .where("meta.name", "=", "epoch")
      .limit(MAX_CHANGES + 1)
      .execute();
    const now = Number(rows[0]?.epoch);
    // A backup was put back, or nobody noted any more what it was: nothing that is known is known to be true.
    const isUnknown = now < epoch || epoch < Number(rows[0]?.trimmed);
    if (isUnknown || rows.length > MAX_CHANGES || rows.some(({ kind }) => kind === "all"))
      return undefined;
    const keys = new Map<string, Set<string>>();
    for (const { kind, key } of rows)
      if (kind !== null && key !== null) keys.set(kind, (keys.get(kind) ?? new Set()).add(key));
    return { epoch: now, keys };
  }

  readonly #readers: Readonly<Record<string, Reader>> = {
    user: async (ids) => {
      let query = this.#db.selectFrom("user").select(["id", "active"]);
      let member = this.#db.selectFrom("membership").select(["user as holder", "library_uid"]);
      if (ids) query = query.where("id", "in", ids);
      if (ids) member = member.where("user", "in", ids);
      // Somebody may have several roles for one library.
      const memberships = member.distinct().orderBy("holder").orderBy("library_uid");
      const libraries = groupScopes(await memberships.execute());
      const rows = await query.execute();
      return ({ users }) => {
        for (const id of ids ?? []) users.delete(id);
        for (const { id, active } of rows)
          users.set(id, {
            id,
            active: active === 1,
            libraries: libraries.get(id) ?? NO_LIBRARIES,
          });
      };
    },
    library: async (ids) => {
      let query = this.#db.selectFrom("library").select(["uid", "workspace_id"]);
      if (ids) query = query.where("uid", "in", ids);
      const rows = new Map((await query.execute()).map((row) => [row.uid, row.workspace_id]));
      return (snapshot) => {
        for (const uid of ids ?? rows.keys()) snapshot.setLibrary(uid, rows.get(uid) ?? undefined);
      };
    },
    token: async (ids) => {
      let query = this.#db.selectFrom("token").select(["id", "user", "hash", "expires_at"]);
      let scopes = this.#db.selectFrom("token_library").select(["token as holder", "library_uid"]);
      if (ids) query = query.where("id", "in", ids);
      if (ids) scopes = scopes.where("token", "in", ids);
      const libraries = groupScopes(await scopes.orderBy("token").orderBy("position").execute());
      const rows = await query.where("active", "=", 1).execute();
      return (snapshot) => {
        for (const id of ids ?? []) snapshot.setToken(id, "", undefined);
        for (const { id, user, hash, expires_at } of rows)
          snapshot.setToken(id, hash, {
            id,
            user,
            expiresAt: expires_at === null ? undefined : Date.parse(expires_at) || 0,
            libraries: libraries.get(id) ?? NO_LIBRARIES,
          });
      };
    },
    team: async (ids) => {
      let query = this.#db.selectFrom("team").selectAll();
      let assigned = this.#db.selectFrom("team_workspace").select(["team", "workspace_id"]);
      if (ids) query = query.where("id", "in", ids);
      if (ids) assigned = assigned.where("team", "in", ids);
      const workspaces = new Map<string, string[]>();
      for (const { team, workspace_id } of await assigned.execute()) {
        const of = workspaces.get(team);
        if (of) of.push(workspace_id);
        else workspaces.set(team, [workspace_id]);
      }
      const rows = await query.execute();
      return ({ teams }) => {
        for (const id of ids ?? []) teams.delete(id);
        for (const row of rows) teams.set(row.id, toScope(row, workspaces.get(row.id) ?? []));
      };
    },
    key: async (ids) => {
      let query = this.#db.selectFrom("signing_key").selectAll().where("state", "<>", "retired");
      if (ids) query = query.where("kid", "in", ids);
      const keys = (await query.execute()).map((row) => this.#toKey(row));
      return (snapshot) => {
        for (const kid of ids ?? []) snapshot.keys.delete(kid);
        for (const key of keys) snapshot.keys.set(key.kid, key);
      };
    },
    account: async (ids) => {
      let query = this.#db.selectFrom("service_account").select(["name", "password", "active"]);
      if (ids) query = query.where("name", "in", ids);
      const rows = await query.execute();
      return ({ accounts }) => {
        for (const name of ids ?? []) accounts.delete(name);
        for (const row of rows) accounts.set(row.name, row);
      };
    },
  };

  #toKey({ kid, alg, secret, public_jwk }: Tables["signing_key"]): VerifyingKey {
    if (alg === "HS256") {
      const key = new TextEncoder().encode(this.#seal.open(secret));
      return { kid, alg, key, jwk: undefined };
    }
    const jwk = JSON.parse(public_jwk ?? "null") as Json & JsonWebKey;
    const key: KeyObject = createPublicKey({ key: jwk, format: "jwk" });
    return { kid, alg, key, jwk };
  }
}

function toScope(row: Tables["team"], workspaces: readonly string[]): TeamScope {
  const { id, active, active_jti: jti, former_jti: former, former_until: until } = row;
  return {
    id,
    jti,
    former: former === null ? undefined : { jti: former, until: Date.parse(until ?? "") || 0 },
    active: active === 1,
    workspaces,
  };
}

/** Reads rows of these keys, or all, and returns what puts them into a snapshot. */
type Reader = (ids: readonly string[] | undefined) => Promise<(snapshot: AccessSnapshot) => void>;

/** A token or a user, and a library that it sees. */
interface ScopeRow {
  readonly holder: string;
  readonly library_uid: string;
}

/** Many see the same: equal lists are one. Rows of one holder follow each other. */
function groupScopes(rows: readonly ScopeRow[]): ReadonlyMap<string, readonly string[]> {
  const shared = new Map<string, readonly string[]>();
  const groups = new Map<string, readonly string[]>();
  const close = (holder: string, uids: readonly string[]): void => {
    const key = uids.join("\n");
    const list = shared.get(key) ?? Object.freeze(uids);
    shared.set(key, list);
    groups.set(holder, list);
  };
  let current: { readonly holder: string; readonly uids: string[] } | undefined;
  for (const { holder, library_uid } of rows) {
    if (current?.holder === holder) current.uids.push(library_uid);
    else {
      if (current) close(current.holder, current.uids);
      current = { holder, uids: [library_uid] };
    }
  }
  if (current) close(current.holder, current.uids);
  return groups;
}
