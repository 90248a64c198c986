import type { PreparedStatements } from "./statements.ts";

/** Revisions that are set aside at a time; those that a killed process did not use are never used. */
const RESERVED = 1_000;

/** The revisions of a file's values, each higher than all before it. */
export class Revisions {
  readonly #statements: PreparedStatements;
  #last: number;
  #end: number;

  constructor(statements: PreparedStatements) {
    this.#statements = statements;
    this.#last = this.#reserve();
    this.#end = this.#last + RESERVED;
  }

  next(): number {
    if (this.#last >= this.#end) this.#end = this.#reserve() + RESERVED;
    return ++this.#last;
  }

  /** A transaction was undone that may have set some aside. */
  forget(): void {
    this.#end = this.#last;
  }

  /** @returns the last revision that may have been used */
  #reserve(): number {
    const row = this.#statements.get(
      `INSERT INTO counter (name, value) VALUES ('rev', ?1) ON CONFLICT (name)
      DO UPDATE SET value = value + ?1 RETURNING value`,
      RESERVED,
    );
    return Number(row!["value"]) - RESERVED;
  }
}
