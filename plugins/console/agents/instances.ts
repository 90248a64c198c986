import { randomUUID } from "node:crypto";
import { GatewayError } from "propylon";
import type { ConsoleDatabase, Queries } from "../data/database.ts";
import type { RegistryAgent } from "../registry/registry-document.ts";
import type { AgentRow, ConnectedRow, InstanceRow } from "../data/tables.ts";

/** What a new instance is. */
export interface NewInstance {
  readonly name: string;
  readonly registryUrl: string | undefined;
  /** Sealed. */
  readonly hostKey: string | undefined;
  readonly agents: readonly RegistryAgent[];
}

/** Rows in one statement: databases bound the number of parameters. */
const CHUNK = 100;

/** The registered instances and their agents. */
export class Instances {
  readonly #database: ConsoleDatabase;
  readonly #max: number;

  constructor(database: ConsoleDatabase, max: number) {
    this.#database = database;
    this.#max = max;
  }

  list(): Promise<InstanceRow[]> {
    const { db } = this.#database;
    return db.selectFrom("instance").selectAll().orderBy("created_at").orderBy("id").execute();
  }

  find(id: string): Promise<InstanceRow | undefined> {
    const { db } = this.#database;
    return db.selectFrom("instance").selectAll().where("id", "=", id).executeTakeFirst();
  }

  /** @throws {GatewayError} `not_found` */
  async get(id: string): Promise<InstanceRow> {
    const found = await this.find(id);
    if (found) return found;
    throw noInstance();
  }

  /** @throws {GatewayError} `exists` for a registry that has an instance; `rate_limited` when there are too many */
  async create({ name, registryUrl, hostKey, agents }: NewInstance): Promise<string> {
    const id = randomUUID();
    const now = new Date().toISOString();
    await this.#database.db.transaction().execute(async (queries) => {
      const made = await queries
        .insertInto("instance")
        .values({
          id,
          name,
          registry_url: registryUrl ?? null,
          host_key: hostKey ?? null,
          registry_read_at: registryUrl === undefined ? null : now,
          created_at: now,
        } as InstanceRow)
        .onConflict((conflict) => conflict.column("registry_url").doNothing())
        .returning("id")
        .executeTakeFirst();
      if (!made) throw registered();
      await this.#checkRoom(queries);
      await insertAgents(queries, id, agents);
    });
    this.#database.changed("instances");
    return id;
  }

  /** Deletes an instance with all that hangs on it, and notes that the issuer may have a team of it. */
  async delete(id: string): Promise<boolean> {
    const wasThere = await this.#database.db.transaction().execute(async (queries) => {
      const gone = await queries
        .deleteFrom("instance")
        .where("id", "=", id)
        .returning("team_status")
        .executeTakeFirst();
      if (gone && gone.team_status !== null)
        await queries
          .insertInto("retired_team")
          .values({ id, deleted_at: new Date().toISOString() })
          .execute();
      return gone !== undefined;
    });
    this.#database.changed("instances");
    return wasThere;
  }

  /** Names of some instances, by their ids; those that are gone are left out. */
  async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const { db } = this.#database;
    const rows = db.selectFrom("instance").select(["id", "name"]).where("id", "in", ids);
    return new Map((await rows.execute()).map(({ id, name }) => [id, name]));
  }

  /** The agents of some instances, each in the order of its registry. */
  agentsOf(ids: readonly string[]): Promise<AgentRow[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return this.#database.db
      .selectFrom("agent_connection")
      .selectAll()
      .where("instance_id", "in", ids)
      .orderBy("instance_id")
      .orderBy("position")
      .execute();
  }

  /** An agent of an instance. */
  findAgent(instance: string, server: string): Promise<AgentRow | undefined> {
    return this.#database.db
      .selectFrom("agent_connection")
      .selectAll()
      .where("instance_id", "=", instance)
      .where("server_id", "=", server)
      .executeTakeFirst();
  }

  /** The agents of the instances that are attached to any workspace, oldest instance first. */
  async attachedAgents(
    limit: number,
  ): Promise<{ readonly rows: readonly ConnectedRow[]; readonly leftOut: number }> {
    const { db } = this.#database;
    const attached = db
      .selectFrom("agent_connection")
      .innerJoin("instance", "instance.id", "agent_connection.instance_id")
      .where("instance.id", "in", db.selectFrom("workspace_instance").select("instance_id"));
    const rows = await attached
      .selectAll("agent_connection")
      .select(["instance.name as instance_name", "instance.registry_url", "instance.host_key"])
      .orderBy("instance.created_at")
      .orderBy("instance.id")
      .orderBy("agent_connection.position")
      .limit(limit)
      .execute();
    if (rows.length < limit) return { rows, leftOut: 0 };
    const { count } = await attached
      .select((each) => each.fn.countAll().as("count"))
      .executeTakeFirstOrThrow();
    return { rows, leftOut: Number(count) - rows.length };
  }

  /** Puts what a registry says now in the place of what it said before. */
  async replaceAgents(id: string, agents: readonly RegistryAgent[]): Promise<void> {
    await this.#database.db.transaction().execute(async (queries) => {
      // The instance first: it serializes two readings, and one that is gone meanwhile gets no agents.
      const { numUpdatedRows } = await queries
        .updateTable("instance")
        .set({ registry_read_at: new Date().toISOString(), registry_problem: null })
        .where("id", "=", id)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return;
      await queries.deleteFrom("agent_connection").where("instance_id", "=", id).execute();
      await insertAgents(queries, id, agents);
    });
    this.#database.changed("instances");
  }

  /** Keeps another key of the host, sealed; `null`: none. */
  async setHostKey(id: string, hostKey: string | null): Promise<void> {
    await this.#database.db
      .updateTable("instance")
      .set({ host_key: hostKey })
      .where("id", "=", id)
      .execute();
    this.#database.changed("instances");
  }

  /** The registry could not be read: the previous agents stay. */
  async markStale(id: string, problem: string): Promise<void> {
    await this.#database.db
      .updateTable("instance")
      .set({ registry_problem: problem })
      .where("id", "=", id)
      .execute();
    this.#database.changed("instances");
  }

  /** Teams that are still to be deleted at the issuer hold their place: without that, deleting would make room without end. */
  async #checkRoom(queries: Queries): Promise<void> {
    const counts = await Promise.all(
      (["instance", "retired_team"] as const).map((table) =>
        queries
          .selectFrom(table)
          .select((each) => each.fn.countAll().as("count"))
          .executeTakeFirstOrThrow(),
      ),
    );
    const count = counts.reduce((sum, row) => sum + Number(row.count), 0);
    if (count <= this.#max) return;
    throw new GatewayError("rate_limited", `There are ${count - 1} instances already.`, {
      data: { limit: this.#max },
      hint: "Delete one, or raise plugins.console.maxInstances.",
    });
  }
}

async function insertAgents(
  queries: Queries,
  instance: string,
  agents: readonly RegistryAgent[],
): Promise<void> {
  const rows = agents.map((agent, position) => ({ instance_id: instance, position, ...agent }));
  for (let at = 0; at < rows.length; at += CHUNK)
    await queries
      .insertInto("agent_connection")
      .values(rows.slice(at, at + CHUNK))
      .execute();
}

/**
 * `not_found`, also for what is not even an id.
 *
 * @param missing which of several
 */
export function noInstance(missing?: readonly string[]): GatewayError {
  return new GatewayError("not_found", "There is no such instance.", {
    ...(missing && { data: { instances: missing.slice(0, 10) } }),
    hint: "GET /api/v1/pallas lists them.",
  });
}

function registered(): GatewayError {
  return new GatewayError("exists", "There is an instance with this registry already.", {
    hint: "GET /api/v1/pallas lists them.",
  });
}
