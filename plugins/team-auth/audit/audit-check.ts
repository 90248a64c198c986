import { GatewayError } from "propylon";
import { type AuditAnchor, type AuditRow, hashOf } from "./audit.ts";
import { newestFirst, readEnds } from "./audit-rows.ts";
import type { Database } from "../tables/tables.ts";

/** What can be wrong with a chain: with the row of a number, or with the place where it should be. */
export type AuditProblem = "changed" | "missing" | "cut off" | "added" | "rewritten";

/** What {@link verifyAudit} found. */
export type AuditVerdict =
  | { readonly ok: true; readonly rows: number; readonly head: AuditAnchor }
  /** With the number of the first row that is wrong. */
  | { readonly ok: false; readonly seq: number; readonly problem: AuditProblem };

/**
 * Checks the chain from its newest row to its oldest: every row vouches for the one just before it. Changes go on meanwhile.
 *
 * @param anchor what was known of a row before; finds a chain that somebody made again as a whole
 * @throws {GatewayError} `not_found` for an anchor before the rows that are kept
 */
export async function verifyAudit(db: Database, anchor?: AuditAnchor): Promise<AuditVerdict> {
  for (;;) {
    const { head, base, last } = await readEnds(db);
    const walk = new Walk(head, anchor);
    for await (const row of newestFirst(db, head.seq)) walk.take(row);
    const wrong = walk.end(base, last);
    // The retention removed rows between two pages.
    if (wrong && (await readEnds(db)).base.seq !== base.seq) continue;
    return wrong ?? { ok: true, rows: head.seq - base.seq, head };
  }
}

/** A way down the chain, and the last, i.e. lowest, thing that was wrong on it. */
class Walk {
  readonly #head: AuditAnchor;
  readonly #anchor: AuditAnchor | undefined;
  #seq: number;
  /** What the next row must have; unknown behind one that is wrong. */
  #hash: string | undefined;
  #wrong: Extract<AuditVerdict, { ok: false }> | undefined;

  constructor(head: AuditAnchor, anchor: AuditAnchor | undefined) {
    this.#head = head;
    this.#anchor = anchor;
    this.#seq = head.seq;
    this.#hash = head.hash;
    if (anchor && anchor.seq > head.seq) this.#note(head.seq + 1, "cut off");
  }

  take(row: AuditRow): void {
    this.#pass(row.seq);
    const hash = hashOf(row);
    const isRight = hash === row.hash && hash === (this.#hash ?? hash);
    if (!isRight) this.#note(row.seq, "changed");
    else this.#compare(row);
    this.#hash = isRight ? row.prev : undefined;
    this.#seq = row.seq - 1;
  }

  end(base: AuditAnchor, last: number): Extract<AuditVerdict, { ok: false }> | undefined {
    if (this.#anchor && this.#anchor.seq < base.seq) throw tooOld(this.#anchor.seq);
    if (last > this.#head.seq && !this.#wrong) this.#note(this.#head.seq + 1, "added");
    this.#pass(base.seq);
    if (this.#hash !== undefined && this.#hash !== base.hash) this.#note(base.seq + 1, "changed");
    this.#compare(base);
    return this.#wrong;
  }

  /** Goes down to a row: those between are not there. */
  #pass(seq: number): void {
    if (seq === this.#seq) return;
    this.#note(seq + 1, this.#seq === this.#head.seq ? "cut off" : "missing");
    this.#hash = undefined;
  }

  #compare({ seq, hash }: AuditAnchor): void {
    if (this.#anchor?.seq === seq && this.#anchor.hash !== hash) this.#note(seq, "rewritten");
  }

  #note(seq: number, problem: AuditProblem): void {
    this.#wrong = { ok: false, seq, problem };
  }
}

function tooOld(seq: number): GatewayError {
  return new GatewayError("not_found", `The row ${seq} of the audit is older than those kept.`, {
    hint: "Check against a newer row, or in an export.",
  });
}
