import { GatewayError } from "propylon";
import type { ConsoleDatabase, Queries } from "../data/database.ts";
import { noInstance } from "./instances.ts";
import type { ConsoleOptions } from "../options.ts";
import type { WorkspaceRow } from "../data/tables.ts";

/** Which instances a change is about. */
export interface TeamChange {
  readonly attached: readonly string[];
  readonly detached: readonly string[];
}

/** How much there may be. */
type Limits = Pick<ConsoleOptions, "maxWorkspaces" | "maxAttachments">;

/** The workspaces and which instances are attached to each. */
export class Workspaces {
  readonly #database: ConsoleDatabase;
  readonly #limits: Limits;

  constructor(database: ConsoleDatabase, limits: Limits) {
    this.#database = database;
    this.#limits = limits;
  }

  list(): Promise<WorkspaceRow[]> {
    const { db } = this.#database;
    return db.selectFrom("workspace").selectAll().orderBy("created_at").orderBy("id").execute();
  }

  /** @throws {GatewayError} `not_found` */
  async get(id: string): Promise<WorkspaceRow> {
    const { db } = this.#database;
    const found = await db
      .selectFrom("workspace")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    if (found) return found;
    throw noWorkspace();
  }

  /** @throws {GatewayError} `exists`; `rate_limited` when there are too many */
  async create(id: string, name: string): Promise<void> {
    await this.#database.db.transaction().execute(async (queries) => {
      const made = await queries
        .insertInto("workspace")
        .values({ id, name, created_at: new Date().toISOString() })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .returning("id")
        .executeTakeFirst();
      if (!made) throw new GatewayError("exists", "There is a workspace with this id already.");
      const { count } = await queries
        .selectFrom("workspace")
        .select((each) => each.fn.countAll().as("count"))
        .executeTakeFirstOrThrow();
      const { maxWorkspaces: limit } = this.#limits;
      if (Number(count) > limit)
        throw new GatewayError("rate_limited", `There are ${limit} workspaces already.`, {
          data: { limit },
          hint: "Delete one, or raise plugins.console.maxWorkspaces.",
        });
    });
    this.#database.changed("workspaces");
  }

  /** @returns the instances that were attached; `undefined` when there was no such workspace */
  async delete(id: string): Promise<readonly string[] | undefined> {
    const gone = await this.#database.db.transaction().execute(async (queries) => {
      const detached = await queries
        .deleteFrom("workspace_instance")
        .where("workspace_id", "=", id)
        .returning("instance_id")
        .execute();
      const { numDeletedRows } = await queries
        .deleteFrom("workspace")
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows === 0n ? undefined : detached.map((row) => row.instance_id);
    });
    this.#database.changed("workspaces");
    return gone;
  }

  /** Instances attached to a workspace, in the order in which they were. */
  async teamsOf(workspace: string): Promise<string[]> {
    const rows = await this.#attached().where("workspace_id", "=", workspace).execute();
    return rows.map((row) => row.instance_id);
  }

  /** As {@link teamsOf}, of every workspace that has any, by its id. */
  async teams(): Promise<ReadonlyMap<string, readonly string[]>> {
    const teams = new Map<string, string[]>();
    for (const {
      workspace_id: workspace,
      instance_id: instance,
    } of await this.#attached().execute()) {
      const of = teams.get(workspace);
      if (of) of.push(instance);
      else teams.set(workspace, [instance]);
    }
    return teams;
  }

  #attached() {
    return this.#database.db
      .selectFrom("workspace_instance")
      .select(["workspace_id", "instance_id"])
      .orderBy("created_at")
      .orderBy("instance_id");
  }

  /** Workspaces that an instance is attached to. */
  async workspacesOf(instance: string): Promise<string[]> {
    const rows = await this.#database.db
      .selectFrom("workspace_instance")
      .select("workspace_id")
      .where("instance_id", "=", instance)
      .orderBy("workspace_id")
      .execute();
    return rows.map((row) => row.workspace_id);
  }

  /**
   * @throws {GatewayError} `not_found` when either is gone; `rate_limited` when there are too many attachments
   * @returns whether it was not attached before
   */
  async attach(workspace: string, instance: string): Promise<boolean> {
    const row = { workspace_id: workspace, instance_id: instance, created_at: now() };
    try {
      const isNew = await this.#database.db.transaction().execute(async (queries) => {
        const { numInsertedOrUpdatedRows } = await queries
          .insertInto("workspace_instance")
          .values(row)
          .onConflict((conflict) => conflict.columns(["workspace_id", "instance_id"]).doNothing())
          .executeTakeFirst();
        const isInserted = (numInsertedOrUpdatedRows ?? 0n) > 0n;
        if (isInserted) await this.#checkRoom(queries, 0);
        return isInserted;
      });
      this.#database.changed("workspaces");
      return isNew;
    } catch (error) {
      // A foreign key is refused with another error by each database.
      await this.#checkPresent(workspace, [instance]);
      throw error;
    }
  }

  /** @returns whether it was attached */
  async detach(workspace: string, instance: string): Promise<boolean> {
    const { numDeletedRows } = await this.#database.db
      .deleteFrom("workspace_instance")
      .where("workspace_id", "=", workspace)
      .where("instance_id", "=", instance)
      .executeTakeFirst();
    this.#database.changed("workspaces");
    return numDeletedRows > 0n;
  }

  /** Attaches exactly these. @throws {GatewayError} as {@link attach} */
  async replaceTeams(workspace: string, instances: readonly string[]): Promise<TeamChange> {
    await this.#checkPresent(workspace, instances);
    const before = await this.teamsOf(workspace);
    const attached = instances.filter((id) => !before.includes(id));
    const detached = before.filter((id) => !instances.includes(id));
    await this.#checkRoom(this.#database.db, attached.length - detached.length);
    for (const id of detached) await this.detach(workspace, id);
    for (const id of attached) await this.attach(workspace, id);
    return { attached, detached };
  }

  /** @param more attachments that are still to be made */
  async #checkRoom(queries: Queries, more: number): Promise<void> {
    const { count } = await queries
      .selectFrom("workspace_instance")
      .select((each) => each.fn.countAll().as("count"))
      .executeTakeFirstOrThrow();
    const { maxAttachments: limit } = this.#limits;
    if (Number(count) + more <= limit) return;
    throw new GatewayError("rate_limited", "Too many instances are attached to workspaces.", {
      data: { limit },
      hint: "Detach some, or raise plugins.console.maxAttachments.",
    });
  }

  async #checkPresent(workspace: string, instances: readonly string[]): Promise<void> {
    await this.get(workspace);
    if (instances.length === 0) return;
    const rows = this.#database.db.selectFrom("instance").select("id");
    const known = await rows.where("id", "in", instances).execute();
    const ids = new Set(known.map(({ id }) => id));
    const missing = instances.filter((id) => !ids.has(id));
    if (missing.length > 0) throw noInstance(missing);
  }
}

function now(): string {
  return new Date().toISOString();
}

/** `not_found`, also for what cannot be an id. */
export function noWorkspace(): GatewayError {
  return new GatewayError("not_found", "There is no such workspace.", {
    hint: "GET /api/v1/workspaces lists them.",
  });
}
