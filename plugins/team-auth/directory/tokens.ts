import { GatewayError } from "propylon";
import { checkInput, digestOf } from "propylon/kit";
import { createSecret, randomText } from "propylon/internal";
import type { Author, Changed, Changes } from "./changes.ts";
import { found, taken } from "../refusals.ts";
import { groupRows } from "../tables/group.ts";
import { hashSchema, instantSchema, librariesSchema, nameSchema } from "../tables/fields.ts";
import {
  endWithin,
  isInReach,
  type Reach,
  requireMinting,
  requireNarrower,
  requireReach,
} from "./reach.ts";
import {
  type Database,
  type Tables,
  timestamp,
  type TokenKind,
  type Trx,
} from "../tables/tables.ts";
import { nothingToChange } from "./users.ts";

/** Begins every token of ours, for scanners that look for lost secrets. */
export const TOKEN_PREFIX = "ppt_";
const ID_LENGTH = 8;

/** A token without its hash, and with its libraries in their order. */
export type Token = Omit<Tables["token"], "hash"> & { readonly libraries: readonly string[] };

/** A token that was just made: the only time that it is shown. */
export interface MintedToken {
  readonly token: Token;
  readonly secret: string;
}

/** What a token is to be. */
export interface TokenInput {
  readonly user: string;
  readonly name: string;
  /** Default: `access`. One that administrates has no libraries. */
  readonly kind?: TokenKind | undefined;
  /** In order of preference; none: it sees nothing. */
  readonly libraries?: readonly string[] | undefined;
  /** ISO 8601; default: it does not expire. */
  readonly expiresAt?: string | undefined;
}

/** What of a token is changed. */
export interface TokenChange extends Omit<TokenInput, "user" | "name" | "kind"> {
  readonly name?: string | undefined;
  /** `false` is for good. */
  readonly active?: boolean | undefined;
}

/** A token of another system, of which only its SHA-256 is known. */
export interface ForeignToken extends Omit<TokenInput, "kind"> {
  readonly hash: string;
}

/** Which tokens are listed; default: all. */
export interface TokenFilter {
  readonly user?: string | undefined;
  readonly reach?: Reach;
}

const MAX_IMPORT = 10_000;

/** Opaque tokens of users. */
export class Tokens {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  async list({ user, reach }: TokenFilter = {}): Promise<Token[]> {
    const { db } = this.#changes;
    let rows = db.selectFrom("token").selectAll();
    let scopes = db.selectFrom("token_library").select(["token", "library_uid"]);
    if (user !== undefined) {
      rows = rows.where("user", "=", user);
      scopes = scopes.where("token", "in", (where) =>
        where.selectFrom("token").select("id").where("user", "=", user),
      );
    }
    const scoped = groupRows(await scopes.orderBy("position").execute(), ({ token }) => token);
    const librariesOf = (id: string): readonly string[] =>
      (scoped.get(id) ?? []).map(({ library_uid }) => library_uid);
    const all = await rows.orderBy("created_at").orderBy("id").execute();
    const seen = all.filter((row) => isInReach(reach, row));
    return seen.map((row) => toToken(row, librariesOf(row.id)));
  }

  /** @throws {GatewayError} `not_found`, also for one that is out of reach */
  get(id: string, reach?: Reach): Promise<Token> {
    return readToken(this.#changes.db, id, reach);
  }

  /**
   * The secret is nowhere afterwards.
   *
   * @throws {GatewayError} `not_found` for an unknown user or library; `forbidden` for a library that the user neither owns nor
   * manages, or for a token that asks and would go beyond itself; `invalid`
   */
  create(author: Author, input: TokenInput): Promise<Changed<MintedToken>> {
    const { user, kind = "access", libraries = [] } = input;
    const secret = mint();
    requireNoLibraries(kind, libraries);
    return this.#changes.make(author, async (trx, reach) => {
      requireMinting(reach, kind, user);
      const expiresAt = endWithin(reach, input.expiresAt) ?? undefined;
      if (reach) await requireScopable(trx, user, libraries, reach);
      const row = { ...input, expiresAt, hash: digestOf(secret) };
      const token = await insertToken(trx, row, secret);
      await requireScopable(trx, user, token.libraries);
      const details = { user, kind, libraries: token.libraries };
      return { value: { token, secret }, entry: entryOf("token.create", token.id, details) };
    });
  }

  /**
   * Takes over tokens of another system, with what they see there.
   *
   * @throws {GatewayError} `exists` for a hash that is there; `not_found` for an unknown user or library; `invalid`
   */
  import(author: Author, foreign: readonly ForeignToken[]): Promise<Changed<readonly Token[]>> {
    if (foreign.length > MAX_IMPORT)
      throw new GatewayError("too_large", `At most ${MAX_IMPORT} tokens are taken over at once.`, {
        hint: "Import them in parts.",
      });
    return this.#changes.make(author, async (trx) => {
      const value: Token[] = [];
      for (const each of foreign) value.push(await insertToken(trx, each, ""));
      const details = { count: value.length };
      return { value, entry: { action: "token.import", target: "token:*", details } };
    });
  }

  /** @throws {GatewayError} as {@link create} */
  update(author: Author, id: string, input: TokenChange): Promise<Changed<Token>> {
    const { libraries, active } = input;
    const set = {
      ...(input.name !== undefined && { name: checkInput(input.name, nameSchema) }),
      ...(input.expiresAt !== undefined && {
        expires_at: checkInput(input.expiresAt, instantSchema),
      }),
      ...(active !== undefined && { active: Number(active) }),
    };
    const hasColumns = Object.keys(set).length > 0;
    if (!hasColumns && libraries === undefined) throw nothingToChange();
    return this.#changes.make(author, async (trx, reach) => {
      const before = await readToken(trx, id, reach);
      requireReach(reach, before, "change");
      if (active === true) requireActive(before);
      if (set.expires_at !== undefined) endWithin(reach, set.expires_at);
      if (hasColumns) await trx.updateTable("token").set(set).where("id", "=", id).execute();
      if (libraries) {
        requireNoLibraries(before.kind, libraries);
        const added = libraries.filter((uid) => !before.libraries.includes(uid));
        requireNarrower(reach, added, set.expires_at ?? before.expires_at);
        await requireScopable(trx, before.user, added, reach);
        await trx.deleteFrom("token_library").where("token", "=", id).execute();
        await insertScope(trx, id, checkInput([...libraries], librariesSchema));
      }
      const details = { ...set, ...(libraries && { libraries }) };
      return { value: await readToken(trx, id), entry: entryOf("token.update", id, details) };
    });
  }

  /**
   * A token that sees the same in place of this one, which is refused from now on.
   *
   * @throws {GatewayError} `not_found`, `forbidden`; `invalid` for one that does not count any more
   */
  replace(author: Author, id: string): Promise<Changed<MintedToken>> {
    const secret = mint();
    return this.#changes.make(author, async (trx, reach) => {
      const before = await readToken(trx, id, reach);
      requireReach(reach, before, "replace");
      requireActive(before);
      const { user, name, kind, libraries, expires_at } = before;
      const expiresAt = endWithin(reach, expires_at) ?? undefined;
      const input = { user, name, kind, libraries, expiresAt };
      const token = await insertToken(trx, { ...input, hash: digestOf(secret) }, secret);
      const gone = { active: 0, replaced_by: token.id };
      await trx.updateTable("token").set(gone).where("id", "=", id).execute();
      const details = { replacedBy: token.id };
      return { value: { token, secret }, entry: entryOf("token.replace", id, details) };
    });
  }

  /** For good. @throws {GatewayError} `not_found`, `forbidden` */
  revoke(author: Author, id: string): Promise<Changed<Token>> {
    return this.#changes.make(author, async (trx, reach) => {
      const before = await readToken(trx, id, reach);
      requireReach(reach, before, "revoke");
      const { active } = before;
      await trx.updateTable("token").set({ active: 0 }).where("id", "=", id).execute();
      const value = await readToken(trx, id);
      return active ? { value, entry: entryOf("token.revoke", id) } : { value };
    });
  }
}

function mint(): string {
  return createSecret(TOKEN_PREFIX + randomText(ID_LENGTH));
}

/** @throws {GatewayError} `invalid` for a token that was revoked or replaced: the one who did that relies on it */
function requireActive({ active }: Token): void {
  if (active === 1) return;
  throw new GatewayError("invalid", "This token was revoked or replaced, which is for good.", {
    hint: "Make a new one.",
  });
}

/** @throws {GatewayError} `invalid` */
function requireNoLibraries(kind: TokenKind, libraries: readonly string[]): void {
  if (kind === "access" || libraries.length === 0) return;
  throw new GatewayError("invalid", "A token that administrates reads no libraries.", {
    hint: "Leave out the libraries, and make a token of the kind access that reads them.",
  });
}

/** @param secret `""` for a token of another system */
async function insertToken(
  trx: Trx,
  input: TokenInput & ForeignToken,
  secret: string,
): Promise<Token> {
  const user = trx.selectFrom("user").select("id").where("id", "=", input.user);
  found(await user.executeTakeFirst(), "user");
  const id =
    secret === "" ? randomText(ID_LENGTH) : secret.slice(TOKEN_PREFIX.length).slice(0, ID_LENGTH);
  const row: Tables["token"] = {
    id,
    user: input.user,
    kind: input.kind ?? "access",
    name: checkInput(input.name, nameSchema),
    prefix: secret === "" ? "" : TOKEN_PREFIX + id,
    hash: checkInput(input.hash, hashSchema),
    active: 1,
    expires_at: input.expiresAt === undefined ? null : checkInput(input.expiresAt, instantSchema),
    created_at: timestamp(),
    last_used_at: null,
    replaced_by: null,
  };
  const insert = trx
    .insertInto("token")
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
  const { numInsertedOrUpdatedRows } = await insert.executeTakeFirst();
  if (!numInsertedOrUpdatedRows) throw taken("token");
  const libraries = checkInput([...(input.libraries ?? [])], librariesSchema);
  await insertScope(trx, id, libraries);
  return toToken(row, libraries);
}

async function insertScope(trx: Trx, token: string, libraries: readonly string[]): Promise<void> {
  if (libraries.length === 0) return;
  const rows = trx.selectFrom("library").select("uid").where("uid", "in", libraries);
  if ((await rows.execute()).length < libraries.length) found(undefined, "library");
  await trx
    .insertInto("token_library")
    .values(libraries.map((library_uid, position) => ({ token, library_uid, position })))
    .execute();
}

/**
 * Only who may manage a library lends it to a token.
 *
 * @param reach a user learns nothing of libraries without a part in them: these are unknown, there or not
 */
async function requireScopable(
  trx: Trx,
  user: string,
  libraries: readonly string[],
  reach?: Reach,
): Promise<void> {
  if (libraries.length === 0) return;
  const rows = await trx
    .selectFrom("membership")
    .select(["library_uid", "role"])
    .where("user", "=", user)
    .where("library_uid", "in", libraries)
    .execute();
  const lent = new Set(rows.flatMap((row) => (row.role === "reader" ? [] : [row.library_uid])));
  const foreign = libraries.filter((uid) => !lent.has(uid));
  if (foreign.length === 0) return;
  const known = new Set(rows.map(({ library_uid }) => library_uid));
  if (reach && foreign.some((uid) => !known.has(uid))) found(undefined, "library");
  throw new GatewayError("forbidden", "The user of the token neither owns nor manages a library.", {
    data: { libraries: foreign.slice(0, 20) },
    hint: "Grant the user the role manager for it first.",
  });
}

async function readToken(db: Database, id: string, reach?: Reach): Promise<Token> {
  const rows = db.selectFrom("token").selectAll().where("id", "=", id);
  const any = await rows.executeTakeFirst();
  const row = found(any && isInReach(reach, any) ? any : undefined, "token");
  const scope = db.selectFrom("token_library").select("library_uid").where("token", "=", id);
  const libraries = await scope.orderBy("position").execute();
  return toToken(
    row,
    libraries.map(({ library_uid }) => library_uid),
  );
}

function toToken({ hash: _hash, ...row }: Tables["token"], libraries: readonly string[]): Token {
  return { ...row, libraries };
}

function entryOf(
  action: string,
  id: string,
  details: Readonly<Record<string, unknown>> = {},
): { readonly action: string; readonly target: string; readonly details: Record<string, unknown> } {
  return { action, target: `token:${id}`, details };
}
