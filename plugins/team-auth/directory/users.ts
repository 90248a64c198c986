import { GatewayError } from "propylon";
import { checkInput } from "propylon/kit";
import type { Author, Changed, Changes } from "./changes.ts";
import { found, taken } from "../refusals.ts";
import { idSchema, nameSchema } from "../tables/fields.ts";
import { type Tables, timestamp } from "../tables/tables.ts";

export type User = Tables["user"];

/** People whose tokens see libraries. */
export class Users {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  list(): Promise<User[]> {
    return this.#changes.db.selectFrom("user").selectAll().orderBy("id").execute();
  }

  /** @throws {GatewayError} `not_found` */
  async get(id: string): Promise<User> {
    const rows = this.#changes.db.selectFrom("user").selectAll().where("id", "=", id);
    return found(await rows.executeTakeFirst(), "user");
  }

  /** @throws {GatewayError} `exists`, `invalid` */
  create(
    author: Author,
    input: { readonly id: string; readonly name?: string | undefined },
  ): Promise<Changed<User>> {
    const id = checkInput(input.id, idSchema);
    const name = checkInput(input.name ?? id, nameSchema);
    return this.#changes.make(author, async (trx) => {
      const row: User = { id, name, active: 1, created_at: timestamp() };
      const insert = trx
        .insertInto("user")
        .values(row)
        .onConflict((conflict) => conflict.doNothing());
      const { numInsertedOrUpdatedRows } = await insert.executeTakeFirst();
      if (!numInsertedOrUpdatedRows) throw taken("user");
      return { value: row, entry: { action: "user.create", target: `user:${id}` } };
    });
  }

  /** An inactive user's tokens are all refused. @throws {GatewayError} `not_found` */
  update(
    author: Author,
    id: string,
    input: { readonly name?: string | undefined; readonly active?: boolean | undefined },
  ): Promise<Changed<User>> {
    const { name, active } = input;
    if (name !== undefined) checkInput(name, nameSchema);
    return this.#changes.make(author, async (trx) => {
      const update = trx
        .updateTable("user")
        .set({
          ...(name !== undefined && { name }),
          ...(active !== undefined && { active: Number(active) }),
        })
        .where("id", "=", id)
        .returningAll();
      if (name === undefined && active === undefined) throw nothingToChange();
      const value = found(await update.executeTakeFirst(), "user");
      const details = {
        ...(name !== undefined && { name }),
        ...(active !== undefined && { active }),
      };
      return { value, entry: { action: "user.update", target: `user:${id}`, details } };
    });
  }

  /** With its memberships and tokens. @throws {GatewayError} `not_found`; `invalid` for the last owner of a library */
  remove(author: Author, id: string): Promise<Changed<void>> {
    return this.#changes.make(author, async (trx) => {
      const owned = await trx
        .selectFrom("membership as mine")
        .select("mine.library_uid")
        .where("mine.user", "=", id)
        .where("mine.role", "=", "owner")
        .where((where) =>
          where.not(
            where.exists(
              where
                .selectFrom("membership as other")
                .select("other.user")
                .whereRef("other.library_uid", "=", "mine.library_uid")
                .where("other.role", "=", "owner")
                .where("other.user", "<>", id),
            ),
          ),
        )
        .execute();
      if (owned.length > 0)
        throw new GatewayError("invalid", "This user is the last owner of a library.", {
          data: { libraries: owned.slice(0, 20).map(({ library_uid }) => library_uid) },
          hint: "Make somebody else an owner of it first.",
        });
      const rows = trx.deleteFrom("user").where("id", "=", id).returning("id");
      found(await rows.executeTakeFirst(), "user");
      return { value: undefined, entry: { action: "user.remove", target: `user:${id}` } };
    });
  }
}

/** @throws nothing: makes the error of an update without a field */
export function nothingToChange(): GatewayError {
  return new GatewayError("invalid", "Nothing to change is given.", {
    hint: "Give at least one field.",
  });
}
