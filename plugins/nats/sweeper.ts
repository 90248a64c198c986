import { placeOf, type Parts } from "./parts.ts";
import type { Request } from "./request.ts";
import { scan, type Seen } from "./scan.ts";
import type { Subjects } from "./subjects.ts";
import { hasEnded, isGone, type Values } from "./values.ts";

/** What is removed in one go at most, of each kind; the rest waits for the next. */
const MAX_SWEPT = 10_000;

/** Removes what nobody can read any more: values that have ended, and what gateways left that were killed over a write. */
export class Sweeper {
  readonly #subjects: Subjects;
  readonly #parts: Parts;
  readonly #values: Values;
  readonly #partAge: number;

  /**
   * @param partAge milliseconds after which parts that no message names were left: far longer than a write may take, and than a
   * server keeps a connection of a process that stands still
   */
  constructor(subjects: Subjects, parts: Parts, values: Values, partAge: number) {
    this.#subjects = subjects;
    this.#parts = parts;
    this.#values = values;
    this.#partAge = partAge;
  }

  /** @param request makes one for each of its steps */
  async sweep(request: () => Request): Promise<void> {
    const { kvStream, logStream, allValues, allLogs } = this.#subjects;
    const ended = await this.#sweepStream(request, kvStream, allValues);
    await this.#sweepStream(request, logStream, allLogs);
    for (const message of ended) {
      if (isGone(message.fields)) await request().remove(kvStream, message.seq);
      else await this.#values.bury(request(), message);
    }
  }

  /** @returns values that have ended, and deletions, which their makers remove unless they are killed */
  async #sweepStream(
    request: () => Request,
    stream: string,
    filter: string,
  ): Promise<readonly Seen[]> {
    const unnamed = new Set<string>();
    const ended: Seen[] = [];
    const now = Date.now();
    // Parts come before the message that names them.
    for await (const message of scan(request, stream, filter)) {
      const kind = this.#subjects.kindOf(message.subject);
      if (kind === "part") {
        if (message.at < now - this.#partAge && unnamed.size < MAX_SWEPT)
          unnamed.add(this.#subjects.idOf(message.subject));
        continue;
      }
      const place = placeOf(message.fields);
      if (place) unnamed.delete(place.id);
      if (kind === "value" && ended.length < MAX_SWEPT && isOver(message, now)) ended.push(message);
    }
    for (const id of unnamed) await this.#parts.remove(request(), stream, id);
    return ended;
  }
}

function isOver({ fields }: Seen, now: number): boolean {
  return isGone(fields) || hasEnded(fields, now);
}
