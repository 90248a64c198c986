import type { PluginContext } from "propylon";
import type { AuditRow } from "./audit.ts";
import { oldestFirst, readEnds } from "./audit-rows.ts";
import { MAX_TEXT } from "../events.ts";
import type { Database } from "../tables/tables.ts";

/** Most rows that are told at a time: those before the last ones are skipped, as after a long time away. */
const MAX_ROWS = 100;

/** Tells of new rows of the audit as events, whichever gateway of the database wrote them. */
export class AuditFeed {
  readonly #db: Database;
  readonly #gateway: Pick<PluginContext, "emit" | "log">;
  /** Number of the last row that was told. */
  #last = 0;
  #working: Promise<void> | undefined;
  #isAsked = false;
  #isClosed = false;

  constructor(db: Database, gateway: Pick<PluginContext, "emit" | "log">) {
    this.#db = db;
    this.#gateway = gateway;
  }

  /** Begins with the rows that come from now on. @returns what ends it */
  async start(): Promise<() => Promise<void>> {
    this.#last = (await readEnds(this.#db)).head.seq;
    return async () => {
      this.#isClosed = true;
      await this.#working;
    };
  }

  /** Something was changed: nobody waits until it is told. Those who come while rows are read share the next look. */
  look(): void {
    this.#isAsked = true;
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
  }

  async #work(): Promise<void> {
    while (this.#isAsked && !this.#isClosed) {
      this.#isAsked = false;
      try {
        await this.#tell();
      } catch (err) {
        // The next change tells of it.
        this.#gateway.log.warn({ err }, "new rows of the audit could not be read");
      }
    }
  }

  async #tell(): Promise<void> {
    const { head } = await readEnds(this.#db);
    // A backup that was put back has fewer rows than were told.
    const after = Math.max(Math.min(this.#last, head.seq), head.seq - MAX_ROWS);
    this.#last = after;
    for await (const row of oldestFirst(this.#db, { after, limit: MAX_ROWS })) {
      if (this.#isClosed) return;
      this.#last = row.seq;
      this.#emit(row);
    }
  }

  #emit({ seq, ...row }: AuditRow): void {
    const [actor, action, target] = [cut(row.actor), cut(row.action), cut(row.target)];
    this.#gateway.emit("audit", { seq, actor, action, target });
    if (target.startsWith("team:"))
      this.#gateway.emit("team", { seq, team: target.slice("team:".length), action });
  }
}

function cut(text: string): string {
  return text.slice(0, MAX_TEXT);
}
