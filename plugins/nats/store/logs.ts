import { FIRST_PROBLEM } from "propylon/kit";
import { z } from "zod";
import { GatewayError } from "propylon";
import type { LoggedValue, LogRetention } from "propylon/store";
import { placeOf, type Parts } from "./parts.ts";
import type { Kept, StoreRequest } from "../link/request.ts";
import { scan, type Seen } from "./scan.ts";
import type { Subjects } from "./subjects.ts";
import type { Later } from "./values.ts";

/** Entries of one addition, and places of its message: the last of them has the last, so that what is behind it is the next message. */
const MAX_ENTRIES = 16_384;
/** Tries to find out what is to be dropped while others do so, too. */
const ATTEMPTS = 5;

const sizesSchema = z.array(z.int().min(0)).min(1).max(MAX_ENTRIES);
const floorSchema = z.coerce.number().pipe(z.int().min(0));

/** What is dropped from a log: all messages before one, and of that one the entries up to a place. */
interface Cut {
  readonly before: number;
  readonly floor: number | undefined;
  /** Entries of those messages. */
  readonly dropped: number;
  /** Whether some go because there are too many, and not for their age. */
  readonly isByCount: boolean;
  /** Ids of their parts. */
  readonly parts: readonly string[];
}

/** Logs: each addition is one message, so that all of it is there or none; how many entries it has is said by its subject. */
export class Logs {
  readonly #subjects: Subjects;
  readonly #parts: Parts;
  readonly #later: Later;
  readonly #onBroken: (subject: string) => void;

  constructor(subjects: Subjects, parts: Parts, later: Later, onBroken: (subject: string) => void) {
    this.#subjects = subjects;
    this.#parts = parts;
    this.#later = later;
    this.#onBroken = onBroken;
  }

  async append(request: StoreRequest, log: string, values: readonly string[]): Promise<number> {
    if (values.length === 0) return placeOfLast(await request.lastOf(this.#stream));
    if (values.length > MAX_ENTRIES)
      throw new GatewayError("too_large", `A log takes ${MAX_ENTRIES} entries at a time.`, {
        hint: "Add them in several steps.",
      });
    const body = await this.#parts.write(request, this.#stream, pack(values));
    const subject = this.#subjects.entries(log, values.length);
    const seq = await request.publish(subject, body.data, body.fields);
    return placeOfLast(seq!);
  }

  async read(
    request: StoreRequest,
    log: string,
    after: number,
    limit: number,
  ): Promise<LoggedValue[]> {
    const entries: LoggedValue[] = [];
    let from = Math.max(after, await this.#floor(request, log));
    while (entries.length < limit) {
      const seq = Math.max(1, Math.floor((from + 1) / MAX_ENTRIES));
      const query = { seq, next_by_subj: this.#subjects.entries(log, "*") };
      const message = await request.find(this.#stream, query);
      if (!message) break;
      const all = await this.#entriesOf(request, message);
      entries.push(...all.filter((entry) => entry.seq > from));
      from = placeOfLast(message.seq);
    }
    return entries.slice(0, limit);
  }

  async trim(
    request: StoreRequest,
    log: string,
    { maxEntries, before = -Infinity }: LogRetention,
  ): Promise<void> {
    const filter = this.#subjects.entries(log, "*");
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const counts = await this.#counts(request, log);
      const total = sumOf(counts);
      if (total === 0) return;
      const isPlain = [...counts.keys()].every((count) => count === 1);
      if (total <= maxEntries && before === -Infinity) return;
      if (isPlain && before === -Infinity)
        return request.purge(this.#stream, filter, { keep: maxEntries });
      const cut = await this.#cut(request, filter, total - maxEntries, before);
      // Somebody else drops the oldest, too: those that we counted are no longer the ones to go.
      const gone = cut.floor === undefined ? cut.dropped : total - maxEntries;
      const left = sumOf(await this.#counts(request, log)) - gone;
      if (cut.isByCount && left < maxEntries) continue;
      return this.#drop(request, log, cut);
    }
  }

  get #stream(): string {
    return this.#subjects.logStream;
  }

  async #entriesOf(request: StoreRequest, message: Kept): Promise<LoggedValue[]> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const data = await this.#parts.read(request, this.#stream, message);
      const values = data && unpack(data);
      if (values)
        return values.map((value, index) => ({
          value,
          seq: placeOfLast(message.seq) - (values.length - 1 - index),
          at: message.at,
        }));
      // It may have been dropped meanwhile.
      const query = { seq: message.seq, next_by_subj: message.subject };
      if ((await request.find(this.#stream, query))?.seq !== message.seq) return [];
    }
    this.#onBroken(`${message.subject}, ${message.seq}`);
    return [];
  }

  /** How many additions there are, by their number of entries. */
  async #counts(request: StoreRequest, log: string): Promise<ReadonlyMap<number, number>> {
    const filter = this.#subjects.entries(log, "*");
    const { subjects } = await request.subjects(this.#stream, filter);
    return new Map([...subjects].map(([subject, messages]) => [countOf(subject), messages]));
  }

  async #cut(request: StoreRequest, filter: string, excess: number, before: number): Promise<Cut> {
    let cut: Cut = { before: 0, floor: undefined, dropped: 0, isByCount: false, parts: [] };
    for await (const message of scan(() => request, this.#stream, filter)) {
      const { seq, at, subject, fields } = message;
      const count = countOf(subject);
      const isOld = at < before;
      if (!isOld && cut.dropped + count > excess) {
        const floor = floorOf(message, excess - cut.dropped);
        return { ...cut, floor, isByCount: cut.isByCount || floor !== undefined };
      }
      const place = placeOf(fields);
      const parts = place ? [...cut.parts, place.id] : cut.parts;
      cut = {
        before: seq + 1,
        floor: undefined,
        dropped: cut.dropped + count,
        isByCount: !isOld,
        parts,
      };
    }
    return cut;
  }

  async #drop(request: StoreRequest, log: string, { before, floor, parts }: Cut): Promise<void> {
    if (floor !== undefined) await this.#raise(request, log, floor);
    if (before === 0) return;
    await request.purge(this.#stream, this.#subjects.entries(log, "*"), { seq: before });
    for (const id of parts) this.#later((then) => this.#parts.remove(then, this.#stream, id));
  }

  /** Entries up to this place are dropped although their message stays. */
  async #raise(request: StoreRequest, log: string, floor: number): Promise<void> {
    const subject = this.#subjects.floor(log);
    const there = await request.find(this.#subjects.kvStream, { last_by_subj: subject });
    if (there && readFloor(there) >= floor) return;
    await request.publish(subject, String(floor), {}, there?.seq ?? 0);
  }

  async #floor(request: StoreRequest, log: string): Promise<number> {
    const query = { last_by_subj: this.#subjects.floor(log) };
    const there = await request.find(this.#subjects.kvStream, query);
    return there ? readFloor(there) : 0;
  }
}

const placeOfLast = (seq: number): number => (seq + 1) * MAX_ENTRIES - 1;

/** The place up to which entries of a message go although it stays: its first so many. */
function floorOf({ seq, subject }: Seen, count: number): number | undefined {
  return count > 0 ? placeOfLast(seq) - (countOf(subject) - count) : undefined;
}

function readFloor({ data }: Kept): number {
  return floorSchema.safeParse(data.toString("latin1"), FIRST_PROBLEM).data ?? 0;
}

function countOf(subject: string): number {
  const count = Number(subject.slice(subject.lastIndexOf(".") + 1));
  return Number.isInteger(count) && count > 0 ? count : 1;
}

function sumOf(counts: ReadonlyMap<number, number>): number {
  return [...counts].reduce((sum, [count, messages]) => sum + count * messages, 0);
}

/** Their sizes in bytes as a line of JSON, then all of them. */
function pack(values: readonly string[]): Buffer {
  const texts = values.map((value) => Buffer.from(value));
  const sizes = JSON.stringify(texts.map(({ length }) => length));
  return Buffer.concat([Buffer.from(`${sizes}\n`), ...texts]);
}

function unpack(data: Buffer): string[] | undefined {
  const line = data.indexOf(10);
  const sizes = sizesSchema.safeParse(
    jsonOf(data.subarray(0, line).toString("latin1")),
    FIRST_PROBLEM,
  ).data;
  if (!sizes) return undefined;
  let begin = line + 1;
  return sizes.map((size) => {
    begin += size;
    return data.toString("utf8", begin - size, begin);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
