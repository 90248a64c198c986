import { checkInput } from "propylon/kit";
import type { Author, Changed, Changes } from "./changes.ts";
import { found, taken } from "../refusals.ts";
import { nameSchema, uidSchema } from "../tables/fields.ts";
import { requireRole } from "./memberships.ts";
import { type Tables, timestamp } from "../tables/tables.ts";
import { nothingToChange } from "./users.ts";

export type Library = Tables["library"];

/** A library as it is made or changed. */
export interface LibraryInput {
  readonly name?: string | undefined;
  /** Teams of this workspace see it; `null`: no team does. */
  readonly workspaceId?: string | null | undefined;
}

/** What tokens and teams see. */
export class LibraryTable {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  list(): Promise<Library[]> {
    return this.#changes.db.selectFrom("library").selectAll().orderBy("uid").execute();
  }

  /** Those that a user may put into a token: the user's own and managed ones. */
  scopable(user: string): Promise<Library[]> {
    return this.#changes.db
      .selectFrom("library")
      .selectAll()
      .where("uid", "in", (where) =>
        where
          .selectFrom("membership")
          .select("library_uid")
          .where("user", "=", user)
          .where("role", "in", ["owner", "manager"]),
      )
      .orderBy("uid")
      .execute();
  }

  /** @throws {GatewayError} `not_found` */
  async get(uid: string): Promise<Library> {
    const rows = this.#changes.db.selectFrom("library").selectAll().where("uid", "=", uid);
    return found(await rows.executeTakeFirst(), "library");
  }

  /**
   * @param input.owner a user who becomes its owner; default: nobody
   * @throws {GatewayError} `exists`, `invalid`; `not_found` for an unknown owner
   */
  create(
    author: Author,
    input: LibraryInput & { readonly uid: string; readonly owner?: string | undefined },
  ): Promise<Changed<Library>> {
    const row = {
      uid: checkInput(input.uid, uidSchema),
      ...checked(input),
      created_at: timestamp(),
    };
    const library: Library = { name: row.uid, workspace_id: null, ...row };
    return this.#changes.make(author, async (trx) => {
      const insert = trx
        .insertInto("library")
        .values(library)
        .onConflict((conflict) => conflict.doNothing());
      const { numInsertedOrUpdatedRows } = await insert.executeTakeFirst();
      if (!numInsertedOrUpdatedRows) throw taken("library");
      const { uid, created_at } = library;
      if (input.owner !== undefined) {
        const user = trx.selectFrom("user").select("id").where("id", "=", input.owner);
        const { id } = found(await user.executeTakeFirst(), "user");
        const owner = { user: id, library_uid: uid, role: "owner", created_at } as const;
        await trx.insertInto("membership").values(owner).execute();
      }
      const { owner, workspaceId } = input;
      const details = { ...(owner !== undefined && { owner }), workspaceId: workspaceId ?? null };
      return {
        value: library,
        entry: { action: "library.create", target: `library:${uid}`, details },
      };
    });
  }

  /**
   * @param as the user whose rights count: only an owner changes a library; default: an admin
   * @throws {GatewayError} `not_found`, `forbidden`, `invalid`
   */
  update(author: Author, uid: string, input: LibraryInput, as?: string): Promise<Changed<Library>> {
    const set = checked(input);
    if (Object.keys(set).length === 0) throw nothingToChange();
    return this.#changes.make(author, async (trx) => {
      await requireRole(trx, as, uid, ["owner"]);
      const update = trx.updateTable("library").set(set).where("uid", "=", uid).returningAll();
      const value = found(await update.executeTakeFirst(), "library");
      return { value, entry: { action: "library.update", target: `library:${uid}`, details: set } };
    });
  }

  /** Also out of every token. @param as as in {@link update} @throws {GatewayError} `not_found`, `forbidden` */
  remove(author: Author, uid: string, as?: string): Promise<Changed<void>> {
    return this.#changes.make(author, async (trx) => {
      await requireRole(trx, as, uid, ["owner"]);
      const rows = trx.deleteFrom("library").where("uid", "=", uid).returning("uid");
      found(await rows.executeTakeFirst(), "library");
      return { value: undefined, entry: { action: "library.remove", target: `library:${uid}` } };
    });
  }
}

function checked({ name, workspaceId }: LibraryInput): Partial<Library> {
  return {
    ...(name !== undefined && { name: checkInput(name, nameSchema) }),
    ...(workspaceId !== undefined && {
      workspace_id: checkInput(workspaceId, uidSchema.nullable()),
    }),
  };
}
