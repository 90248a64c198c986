import { boundedRecord, FIRST_PROBLEM } from "propylon/kit";
import { ASK_TIMEOUTS, askOnce, type Store } from "propylon/store";
import { z } from "zod";
import { LEVELS } from "./event.ts";
import type { LogLine, LogQuery, LogTail } from "./log-tail.ts";

const TOPIC = "log";
/** Lines of one answer. */
const MAX_LINES = 1_000;

/** Query of `GET /_meta/logs`. */
export const logQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_LINES).default(500),
  level: z.enum(LEVELS).default("info"),
});

const answerSchema = z.object({
  lines: z.array(boundedRecord(z.string(), z.unknown(), 10_000)).max(MAX_LINES),
});

/** A line, and the replica that wrote it where several share a store. */
export interface LogRow {
  readonly replica?: string;
  readonly line: LogLine;
}

/** Answer of `GET /_meta/logs`. */
export interface LogView {
  readonly ok: true;
  /** Oldest first. */
  readonly lines: readonly LogRow[];
  /** Replicas that did not answer in time: their lines are not there. */
  readonly missing: readonly string[];
}

/** The last lines of the logs of all replicas of the store; of this one alone where none is shared. */
export class LogLines {
  readonly #store: Store;
  readonly #tail: LogTail;

  constructor(store: Store, tail: LogTail) {
    this.#store = store;
    this.#tail = tail;
  }

  /** Answers other replicas. @returns ends that */
  async serve(): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const tail = this.#tail;
    const end = await this.#store.answer(TOPIC, async function* (question) {
      yield await Promise.resolve({
        lines: tail.read(logQuerySchema.parse(question, FIRST_PROBLEM)),
      });
    });
    return () => void end();
  }

  /** @throws {GatewayError} `unavailable` while the store is away */
  async read(query: LogQuery): Promise<LogView> {
    const own = this.#tail.read(query);
    if (!this.#store.shared) return { ok: true, lines: own.map((line) => ({ line })), missing: [] };
    const all = await this.#store.replicas();
    const answers = await Promise.all(
      all.map(async ({ id }) => {
        const lines = id === this.#store.replica ? own : await this.#ask(id, query);
        return { replica: id, lines };
      }),
    );
    const missing = answers.filter(({ lines }) => !lines).map(({ replica }) => replica);
    const rows = answers.flatMap(({ replica, lines }) =>
      (lines ?? []).map((line) => ({ replica, line })),
    );
    return { ok: true, lines: rows.toSorted(byTime).slice(-query.limit), missing };
  }

  #ask(replica: string, body: LogQuery): Promise<readonly LogLine[] | undefined> {
    const question = { topic: TOPIC, body, schema: answerSchema, timeout: ASK_TIMEOUTS.look };
    return askOnce(this.#store, replica, question).then(
      ({ lines }) => lines,
      () => undefined,
    );
  }
}

/** Times are ISO 8601, which sort as texts do. */
function byTime(one: LogRow, other: LogRow): number {
  const [a, b] = [timeOf(one), timeOf(other)];
  return a < b ? -1 : Number(a > b);
}

function timeOf({ line: { ts } }: LogRow): string {
  return typeof ts === "string" ? ts : "";
}
