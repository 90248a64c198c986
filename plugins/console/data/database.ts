import type { Kysely } from "kysely";
import { GatewayError } from "propylon";
import type { OpenDatabase } from "propylon/store";
import type { ConsoleChanges, ConsolePart } from "./changes.ts";
import { type ConsoleSchema, migrations } from "./tables.ts";

/** A transaction, or the database itself. */
export type Queries = Pick<
  Kysely<ConsoleSchema>,
  "selectFrom" | "insertInto" | "updateTable" | "deleteFrom"
>;

/** The tables, once they are open. */
export class ConsoleDatabase {
  readonly #changes: Pick<ConsoleChanges, "tell">;
  #db: Kysely<ConsoleSchema> | undefined;

  constructor(changes: Pick<ConsoleChanges, "tell">) {
    this.#changes = changes;
  }

  /** @throws {GatewayError} `invalid` for a store without tables */
  async open(openDatabase: OpenDatabase): Promise<void> {
    this.#db = await openDatabase<ConsoleSchema>(migrations);
  }

  /** @throws {GatewayError} `unavailable` before the start */
  get db(): Kysely<ConsoleSchema> {
    if (this.#db) return this.#db;
    throw new GatewayError("unavailable", "The console has not started yet.");
  }

  /** Something was written, and the transaction has ended. */
  changed(part: ConsolePart): void {
    this.#changes.tell(part);
  }
}
