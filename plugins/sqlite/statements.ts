import { GatewayError } from "propylon";
import type { Engine, Row, SqlValue, Statement } from "./engine.ts";

/** The statements of one file, of which each is prepared once. */
export class PreparedStatements {
  readonly #engine: Engine;
  readonly #prepared = new Map<string, Statement>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    return this.#prepare(sql).get(...values);
  }

  all(sql: string, ...values: readonly SqlValue[]): Row[] {
    return this.#prepare(sql).all(...values);
  }

  run(sql: string, ...values: readonly SqlValue[]): ReturnType<Statement["run"]> {
    return this.#prepare(sql).run(...values);
  }

  exec(sql: string): void {
    this.#engine.exec(sql);
  }

  /** @returns how many rows it changed */
  change(sql: string, ...values: readonly SqlValue[]): number {
    return Number(this.run(sql, ...values).changes);
  }

  /** One transaction: all of it is done, or nothing. @throws {GatewayError} `unavailable` for a full file */
  together<T>(work: () => T): T {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.run("COMMIT");
      return result;
    } catch (error) {
      this.#rollBack();
      throw explain(error);
    }
  }

  close(): void {
    this.#prepared.clear();
    this.#engine.close();
  }

  /** SQLite ends a transaction on its own when its disk is full. An error about the missing transaction would hide the reason. */
  #rollBack(): void {
    try {
      this.run("ROLLBACK");
    } catch {
      // Undone already.
    }
  }

  #prepare(sql: string): Statement {
    const statement = this.#prepared.get(sql) ?? this.#engine.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}

/** A full file is not a store that is away: reads go on. */
function explain(error: unknown): unknown {
  if (!/\bfull\b/.test((error as Error).message)) return error;
  return new GatewayError("unavailable", "The gateway's store is full.", {
    cause: error,
    hint: "The operator can raise maxSize of the plugin sqlite, or make room on the disk.",
  });
}
