import { GatewayError } from "propylon";
import { checkInput, createSecret, digestOf, randomText } from "propylon/kit";
import { type Author, type Changed, type Changes, found, taken } from "./changes.ts";
import { hashSchema, instantSchema, librariesSchema, nameSchema } from "./fields.ts";
import { type Database, type Tables, timestamp, type Trx } from "./tables.ts";
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
  /** In order of preference; none: it sees nothing. */
  readonly libraries?: readonly string[] | undefined;
  /** ISO 8601; default: it does not end by itself. */
  readonly expiresAt?: string | undefined;
}

/** What of a token is changed. */
export interface TokenChange extends Omit<TokenInput, "user" | "name"> {
  readonly name?: string | undefined;
  readonly active?: boolean | undefined;
}

/** A token of another system, of which only its SHA-256 is known. */
export interface ForeignToken extends TokenInput {
  readonly hash: string;
}

const MAX_IMPORT = 10_000;

/** Opaque tokens of users. */
export class Tokens {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  async list({ user }: { readonly user?: string | undefined } = {}): Promise<Token[]> {
    const { db } = this.#changes;
    let rows = db.selectFrom("token").selectAll();
    let scopes = db.selectFrom("token_library").select(["token", "library_uid"]);
    if (user !== undefined) {
      rows = rows.where("user", "=", user);
      scopes = scopes.where("token", "in", (where) =>
        where.selectFrom("token").select("id").where("user", "=", user),
      );
    }
    const libraries = new Map<string, string[]>();
    for (const { token, library_uid } of await scopes.orderBy("position").execute())
      libraries.set(token, [...(libraries.get(token) ?? []), library_uid]);
    const all = await rows.orderBy("created_at").orderBy("id").execute();
    return all.map((row) => toToken(row, libraries.get(row.id) ?? []));
  }

  /** @throws {GatewayError} `not_found` */
  get(id: string): Promise<Token> {
    return readToken(this.#changes.db, id);
  }

  /**
   * The secret is nowhere afterwards.
   *
   * @throws {GatewayError} `not_found` for an unknown user or library; `forbidden` for a library that the user neither owns nor
   * manages; `invalid`
   */
  create(author: Author, input: TokenInput): Promise<Changed<MintedToken>> {
    const secret = mint();
    return this.#changes.make(author, async (trx) => {
      const token = await insertToken(trx, { ...input, hash: digestOf(secret) }, secret);
      await requireScopable(trx, token.user, token.libraries);
      const details = { user: token.user, libraries: token.libraries };
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
    return this.#changes.make(author, async (trx) => {
      const before = await readToken(trx, id);
      if (hasColumns) await trx.updateTable("token").set(set).where("id", "=", id).execute();
      if (libraries) {
        const added = libraries.filter((uid) => !before.libraries.includes(uid));
        await requireScopable(trx, before.user, added);
        await trx.deleteFrom("token_library").where("token", "=", id).execute();
        await insertScope(trx, id, checkInput([...libraries], librariesSchema));
      }
      const details = { ...set, ...(libraries && { libraries }) };
      return { value: await readToken(trx, id), entry: entryOf("token.update", id, details) };
    });
  }

  /** A token that sees the same in place of this one, which is refused from now on. @throws {GatewayError} `not_found` */
  replace(author: Author, id: string): Promise<Changed<MintedToken>> {
    const secret = mint();
    return this.#changes.make(author, async (trx) => {
      const { user, name, libraries, expires_at } = await readToken(trx, id);
      const input = {
        user,
        name,
        libraries,
        ...(expires_at !== null && { expiresAt: expires_at }),
      };
      const token = await insertToken(trx, { ...input, hash: digestOf(secret) }, secret);
      const gone = { active: 0, replaced_by: token.id };
      await trx.updateTable("token").set(gone).where("id", "=", id).execute();
      const details = { replacedBy: token.id };
      return { value: { token, secret }, entry: entryOf("token.replace", id, details) };
    });
  }

  /** For good. @throws {GatewayError} `not_found` */
  revoke(author: Author, id: string): Promise<Changed<Token>> {
    return this.#changes.make(author, async (trx) => {
      const { active } = await readToken(trx, id);
      await trx.updateTable("token").set({ active: 0 }).where("id", "=", id).execute();
      const value = await readToken(trx, id);
      return active ? { value, entry: entryOf("token.revoke", id) } : { value };
    });
  }
}

function mint(): string {
  return createSecret(TOKEN_PREFIX + randomText(ID_LENGTH));
}

/** @param secret `""` for a token of another system */
async function insertToken(trx: Trx, input: ForeignToken, secret: string): Promise<Token> {
  const user = trx.selectFrom("user").select("id").where("id", "=", input.user);
  found(await user.executeTakeFirst(), "user");
  const id =
    secret === "" ? randomText(ID_LENGTH) : secret.slice(TOKEN_PREFIX.length).slice(0, ID_LENGTH);
  const row: Tables["token"] = {
    id,
    user: input.user,
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

/** Only who may manage a library lends it to a token. */
async function requireScopable(
  trx: Trx,
  user: string,
  libraries: readonly string[],
): Promise<void> {
  if (libraries.length === 0) return;
  const rows = await trx
    .selectFrom("membership")
    .select("library_uid")
    .distinct()
    .where("user", "=", user)
    .where("role", "in", ["owner", "manager"])
    .where("library_uid", "in", libraries)
    .execute();
  const mine = new Set(rows.map(({ library_uid }) => library_uid));
  const foreign = libraries.filter((uid) => !mine.has(uid));
  if (foreign.length === 0) return;
  throw new GatewayError("forbidden", "The user of the token neither owns nor manages a library.", {
    data: { libraries: foreign.slice(0, 20) },
    hint: "Grant the user the role manager for it first.",
  });
}

async function readToken(db: Database, id: string): Promise<Token> {
  const rows = db.selectFrom("token").selectAll().where("id", "=", id);
  const row = found(await rows.executeTakeFirst(), "token");
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
