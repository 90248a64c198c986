import { GatewayError } from "propylon";
import type { Author, Changed, Changes } from "./changes.ts";
import { found } from "../refusals.ts";
import {
  type Database,
  type MembershipRole,
  type Tables,
  timestamp,
  type Trx,
} from "../tables/tables.ts";

export type Membership = Tables["membership"];

/** A role of a user for a library. */
export interface MembershipKey {
  readonly user: string;
  readonly library: string;
  readonly role: MembershipRole;
}

/** Which memberships are listed; default: all. */
export interface MembershipFilter {
  readonly user?: string | undefined;
  readonly library?: string | undefined;
}

/** Who may change what: an owner everything, a manager only who reads. */
const MAY_CHANGE: Readonly<Record<MembershipRole, readonly MembershipRole[]>> = {
  owner: ["owner"],
  manager: ["owner"],
  reader: ["owner", "manager"],
};

/** Who owns, manages and reads which library. */
export class Memberships {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  list({ user, library }: MembershipFilter = {}): Promise<Membership[]> {
    let rows = this.#changes.db.selectFrom("membership").selectAll();
    if (user !== undefined) rows = rows.where("user", "=", user);
    if (library !== undefined) rows = rows.where("library_uid", "=", library);
    return rows.orderBy("library_uid").orderBy("user").orderBy("role").execute();
  }

  /**
   * Granting again changes nothing.
   *
   * @param as the user whose rights count; default: an admin
   * @throws {GatewayError} `not_found`, `forbidden`
   */
  grant(author: Author, key: MembershipKey, as?: string): Promise<Changed<Membership>> {
    const { user, library, role } = key;
    return this.#changes.make(author, async (trx) => {
      await requireRole(trx, as, library, MAY_CHANGE[role]);
      found(
        await trx.selectFrom("user").select("id").where("id", "=", user).executeTakeFirst(),
        "user",
      );
      const libraries = trx.selectFrom("library").select("uid").where("uid", "=", library);
      found(await libraries.executeTakeFirst(), "library");
      const row: Membership = { user, library_uid: library, role, created_at: timestamp() };
      const insert = trx
        .insertInto("membership")
        .values(row)
        .onConflict((conflict) => conflict.doNothing());
      const { numInsertedOrUpdatedRows } = await insert.executeTakeFirst();
      if (!numInsertedOrUpdatedRows)
        return { value: await selectOne(trx, key).executeTakeFirstOrThrow() };
      return { value: row, entry: entryOf("membership.grant", key) };
    });
  }

  /**
   * Removes a role. With the last one the library goes out of the user's tokens; who still reads it keeps it there.
   *
   * @param as as in {@link grant}
   * @throws {GatewayError} `not_found`, `forbidden`; `invalid` for the last owner
   */
  revoke(
    author: Author,
    key: MembershipKey,
    as?: string,
  ): Promise<Changed<{ readonly narrowedTokens: number }>> {
    return this.#changes.make(author, async (trx) => {
      await requireRole(trx, as, key.library, MAY_CHANGE[key.role]);
      found(await selectOne(trx, key).executeTakeFirst(), "membership");
      if (key.role === "owner") await requireOtherOwner(trx, key);
      await trx
        .deleteFrom("membership")
        .where("user", "=", key.user)
        .where("library_uid", "=", key.library)
        .where("role", "=", key.role)
        .execute();
      const narrowedTokens = await narrowTokens(trx, key);
      const value = { narrowedTokens };
      return { value, entry: entryOf("membership.revoke", key, value) };
    });
  }
}

function selectOne(db: Database, { user, library, role }: MembershipKey) {
  return db
    .selectFrom("membership")
    .selectAll()
    .where("user", "=", user)
    .where("library_uid", "=", library)
    .where("role", "=", role);
}

/**
 * @param as `undefined`: an admin, who may everything
 * @throws {GatewayError} `not_found` for a library that this user has nothing to do with; `forbidden`
 */
export async function requireRole(
  db: Database,
  as: string | undefined,
  library: string,
  enough: readonly MembershipRole[],
): Promise<void> {
  if (as === undefined) return;
  const mine = db.selectFrom("membership").select("role");
  const rows = await mine.where("user", "=", as).where("library_uid", "=", library).execute();
  // Whether a library is there is known to those who have a part in it.
  if (rows.length === 0) found(undefined, "library");
  if (rows.some(({ role }) => enough.includes(role))) return;
  throw new GatewayError(
    "forbidden",
    `This needs the role ${enough.join(" or ")} for the library.`,
    {
      hint: "Ask an owner of the library.",
    },
  );
}

async function requireOtherOwner(trx: Trx, { user, library }: MembershipKey): Promise<void> {
  const others = await trx
    .selectFrom("membership")
    .select("user")
    .where("library_uid", "=", library)
    .where("role", "=", "owner")
    .where("user", "<>", user)
    .executeTakeFirst();
  if (others) return;
  throw new GatewayError("invalid", "A library cannot lose its last owner.", {
    hint: "Make somebody else an owner of it first.",
  });
}

/** A right that was lent to tokens goes with who had it. */
async function narrowTokens(trx: Trx, { user, library }: MembershipKey): Promise<number> {
  const left = await trx
    .selectFrom("membership")
    .select("role")
    .where("user", "=", user)
    .where("library_uid", "=", library)
    .executeTakeFirst();
  if (left) return 0;
  const { numDeletedRows } = await trx
    .deleteFrom("token_library")
    .where("library_uid", "=", library)
    .where("token", "in", (where) =>
      where.selectFrom("token").select("id").where("user", "=", user),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function entryOf(
  action: string,
  { user, library, role }: MembershipKey,
  more: Readonly<Record<string, unknown>> = {},
): { readonly action: string; readonly target: string; readonly details: Record<string, unknown> } {
  return { action, target: `library:${library}`, details: { user, role, ...more } };
}
