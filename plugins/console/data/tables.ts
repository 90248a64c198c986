import type { Migration } from "propylon/store";

/** State of an instance's team at the issuer; null: nobody asked for one yet. */
export type TeamStatus = "pending" | "provisioned" | "failed" | null;

/** Times are ISO 8601 in every table. */
export interface InstanceRow {
  readonly id: string;
  readonly name: string;
  /** Null for one without agents of its own, such as the chat of a console. */
  readonly registry_url: string | null;
  readonly registry_read_at: string | null;
  /** Why the agents are those of an earlier reading. */
  readonly registry_problem: string | null;
  /** What its host wants to be shown; sealed. */
  readonly host_key: string | null;
  readonly team_status: TeamStatus;
  readonly team_reason: string | null;
  /** Sealed. */
  readonly team_jwt: string | null;
  /** When a token was kept for the first time: from then on somebody may use it. */
  readonly provisioned_at: string | null;
  readonly revealed_at: string | null;
  readonly created_at: string;
}

export interface WorkspaceRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

export interface AttachmentRow {
  readonly workspace_id: string;
  readonly instance_id: string;
  readonly created_at: string;
}

/** An agent of an instance, as its registry said last. */
export interface AgentRow {
  readonly instance_id: string;
  readonly server_id: string;
  /** In the registry's list. */
  readonly position: number;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly icon: string | null;
  readonly url: string;
}

/** An agent of an instance that is attached somewhere. */
export interface ConnectedRow extends AgentRow, Pick<InstanceRow, "registry_url" | "host_key"> {
  readonly instance_name: string;
}

/** A team that the issuer is still to delete. */
export interface RetiredRow {
  readonly id: string;
  readonly deleted_at: string;
}

/** The tables by name. */
export interface ConsoleSchema {
  instance: InstanceRow;
  workspace: WorkspaceRow;
  workspace_instance: AttachmentRow;
  agent_connection: AgentRow;
  retired_team: RetiredRow;
}

/** Steps of the tables; new ones at the end. */
export const migrations: readonly Migration[] = [
  async (db) => {
    await db.schema
      .createTable("instance")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("registry_url", "text", (column) => column.unique())
      .addColumn("registry_read_at", "text")
      .addColumn("registry_problem", "text")
      .addColumn("team_status", "text")
      .addColumn("team_reason", "text")
      .addColumn("team_jwt", "text")
      .addColumn("provisioned_at", "text")
      .addColumn("revealed_at", "text")
      .addColumn("created_at", "text", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("workspace")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("created_at", "text", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("workspace_instance")
      .addColumn("workspace_id", "text", (column) =>
        column.notNull().references("workspace.id").onDelete("cascade"),
      )
      .addColumn("instance_id", "text", (column) =>
        column.notNull().references("instance.id").onDelete("cascade"),
      )
      .addColumn("created_at", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("console__attachment", ["workspace_id", "instance_id"])
      .execute();
    await db.schema
      .createIndex("attachment_by_instance")
      .on("workspace_instance")
      .column("instance_id")
      .execute();
    await db.schema
      .createTable("agent_connection")
      .addColumn("instance_id", "text", (column) =>
        column.notNull().references("instance.id").onDelete("cascade"),
      )
      .addColumn("server_id", "text", (column) => column.notNull())
      .addColumn("position", "integer", (column) => column.notNull())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("title", "text")
      .addColumn("description", "text")
      .addColumn("icon", "text")
      .addColumn("url", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("console__connection", ["instance_id", "server_id"])
      .execute();
    await db.schema
      .createTable("retired_team")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("deleted_at", "text", (column) => column.notNull())
      .execute();
  },
  async (db) => {
    await db.schema.alterTable("instance").addColumn("host_key", "text").execute();
  },
];
