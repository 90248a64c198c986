import { placeOf, type Parts } from "./parts.ts";
import type { StoreRequest } from "../link/request.ts";
import { scan, type Seen } from "./scan.ts";
import type { Subjects } from "./subjects.ts";
import type { Timing } from "./timing.ts";
import { hasEnded, isGone, type Values } from "./values.ts";

type SweeperTiming = Pick<Timing, "partAge" | "batch">;

/** Removes what nobody can read any more: values that have ended, and what gateways left that were killed over a write. */
export class Sweeper {
  readonly #subjects: Subjects;
  readonly #parts: Parts;
  readonly #values: Values;
  readonly #timing: SweeperTiming;

  constructor(subjects: Subjects, parts: Parts, values: Values, timing: SweeperTiming) {
    this.#subjects = subjects;
    this.#parts = parts;
    this.#values = values;
    this.#timing = timing;
  }

  /** @param request makes one for each of its steps */
  async sweep(request: () => StoreRequest): Promise<void> {
    const { kvStream, logStream, allValues, allLogs } = this.#subjects;
    // All of them, or values would end faster than they go.
    for (let found = this.#timing.batch; found === this.#timing.batch;) {
      const ended = await this.#sweepStream(request, kvStream, allValues);
      for (const message of ended) await this.#remove(request(), message);
      found = ended.length;
    }
    await this.#sweepStream(request, logStream, allLogs);
  }

  async #remove(request: StoreRequest, message: Seen): Promise<void> {
    if (isGone(message.fields)) await request.remove(this.#subjects.kvStream, message.seq);
    else await this.#values.bury(request, message);
  }

  /** @returns values that have ended, and deletions, which their makers remove unless they are killed */
  async #sweepStream(
    request: () => StoreRequest,
    stream: string,
    filter: string,
  ): Promise<readonly Seen[]> {
    const unnamed = new Map<string, number>();
    const ended: Seen[] = [];
    const now = Date.now();
    let newest = 0;
    // Parts come before the message that names them.
    for await (const message of scan(request, stream, filter)) {
      newest = message.at;
      const kind = this.#subjects.kindOf(message.subject);
      if (kind === "part") {
        if (unnamed.size < this.#timing.batch)
          unnamed.set(this.#subjects.idOf(message.subject), message.at);
        continue;
      }
      const place = placeOf(message.fields);
      if (place) unnamed.delete(place.id);
      if (kind === "value" && ended.length < this.#timing.batch && isOver(message, now))
        ended.push(message);
    }
    // By the server's clock: ours may be another one.
    for (const [id, at] of unnamed)
      if (at < newest - this.#timing.partAge) await this.#parts.remove(request(), stream, id);
    return ended;
  }
}

function isOver({ fields }: Seen, now: number): boolean {
  return isGone(fields) || hasEnded(fields, now);
}
