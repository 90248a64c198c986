import type { ListOptions, PutOptions, StoredEntry, StoredValue } from "propylon/store";
import { Pages } from "./pages.ts";
import { placeOf, type Parts } from "./parts.ts";
import type { Fields, Kept, StoreRequest } from "../link/request.ts";
import type { Subjects } from "./subjects.ts";

/** Name of the field with the moment from which nothing is there, in milliseconds since 1970. */
const UNTIL = "Propylon-Until";
/** Name of the field of a deletion; it is told as any write, and removed at once. */
const GONE = "Propylon-Gone";
/** Tries of a write that others are ahead of; each ends in a refusal, so that none is written twice. */
const ATTEMPTS = 20;
/** Values that are asked for at a time. */
const AT_A_TIME = 64;
/** Revisions whose fields are remembered, so that to write over one needs no look. */
const MAX_KNOWN = 1_000;

/** Where to put what need not be waited for. */
export type Later = (work: (request: StoreRequest) => Promise<unknown>) => void;

/** Values under keys: each is the last message of a subject, and its revision is the place of that message in the stream. */
export class Values {
  readonly #subjects: Subjects;
  readonly #parts: Parts;
  readonly #later: Later;
  readonly #onBroken: (subject: string) => void;
  readonly #pages: Pages;
  readonly #known = new Map<number, Fields>();

  constructor(subjects: Subjects, parts: Parts, later: Later, onBroken: (subject: string) => void) {
    this.#subjects = subjects;
    this.#parts = parts;
    this.#pages = new Pages(subjects);
    this.#later = later;
    this.#onBroken = onBroken;
  }

  async get(request: StoreRequest, bucket: string, key: string): Promise<StoredValue | undefined> {
    const subject = this.#subjects.value(bucket, key);
    for (let last = 0; ;) {
      const head = await this.#find(request, subject);
      if (!isThere(head)) return undefined;
      const data = await this.#parts.read(request, this.#stream, head);
      if (data) return { value: data.toString("utf8"), rev: head.seq };
      if (head.seq === last) break;
      last = head.seq;
    }
    this.#onBroken(subject);
    return undefined;
  }

  async put(
    request: StoreRequest,
    bucket: string,
    key: string,
    value: string,
    { rev, until }: PutOptions = {},
  ): Promise<number | undefined> {
    const subject = this.#subjects.value(bucket, key);
    const before = await this.#before(request, subject, rev);
    if (before === "another") return undefined;
    const body = await this.#parts.write(request, this.#stream, Buffer.from(value));
    const fields = { ...body.fields, ...(until !== undefined && { [UNTIL]: String(until) }) };
    const write = (expected?: number): Promise<number | undefined> =>
      request.publish(subject, body.data, fields, expected);
    const seq = rev === 0 ? await this.#create(request, subject, write) : await write(rev);
    this.#removeParts(seq === undefined ? fields : before);
    if (seq !== undefined) this.#know(seq, fields);
    return seq;
  }

  async delete(request: StoreRequest, bucket: string, key: string, rev?: number): Promise<boolean> {
    const subject = this.#subjects.value(bucket, key);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const head = await this.#find(request, subject);
      if (!isThere(head) || (rev !== undefined && head.seq !== rev)) return false;
      if (await this.bury(request, head)) return true;
    }
    throw contended();
  }

  /** Writes a deletion over a message, unless another is there by now. */
  async bury(
    request: StoreRequest,
    { subject, seq, fields }: Omit<Kept, "data">,
  ): Promise<boolean> {
    const mark = await request.publish(subject, "", { [GONE]: "1" }, seq);
    if (mark === undefined) return false;
    this.#later((then) => then.remove(this.#stream, mark));
    this.#removeParts(fields);
    return true;
  }

  async list(
    request: StoreRequest,
    bucket: string,
    { prefix, after = "", limit }: ListOptions,
  ): Promise<StoredEntry[]> {
    const { keys, seq } = await this.#pages.keys(request, bucket, prefix, after);
    const entries: StoredEntry[] = [];
    let begin = 0;
    while (begin < keys.length && entries.length < limit) {
      const some = keys.slice(begin, begin + Math.min(AT_A_TIME, limit - entries.length));
      const found = await Promise.all(some.map((key) => this.#entry(request, bucket, key)));
      entries.push(...found.flatMap((entry) => (entry ? [entry] : [])));
      begin += some.length;
    }
    this.#pages.keep(bucket, prefix, {
      keys: keys.slice(begin),
      after: keys[begin - 1] ?? "",
      seq,
    });
    return entries;
  }

  get #stream(): string {
    return this.#subjects.kvStream;
  }

  async #entry(
    request: StoreRequest,
    bucket: string,
    key: string,
  ): Promise<StoredEntry | undefined> {
    const found = await this.get(request, bucket, key);
    return found && { key, ...found };
  }

  async #find(request: StoreRequest, subject: string): Promise<Kept | undefined> {
    const head = await request.find(this.#stream, { last_by_subj: subject });
    if (head) this.#know(head.seq, head.fields);
    return head;
  }

  /** Fields of what is written over, of which parts may be left to remove. What has ended is not there. */
  async #before(
    request: StoreRequest,
    subject: string,
    rev: number | undefined,
  ): Promise<Fields | undefined | "another"> {
    if (rev === 0) return undefined;
    const known = rev === undefined ? undefined : this.#known.get(rev);
    if (known) return isValid(known) ? known : "another";
    const head = await this.#find(request, subject);
    if (rev === undefined) return head?.fields;
    return isThere(head) && head.seq === rev ? head.fields : "another";
  }

  /** What has ended, or is a deletion, is written over as if nothing were there. */
  async #create(
    request: StoreRequest,
    subject: string,
    write: (expected: number) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    let ended: Kept | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const seq = await write(ended?.seq ?? 0);
      if (seq !== undefined) this.#removeParts(ended?.fields);
      if (seq !== undefined) return seq;
      ended = await this.#find(request, subject);
      if (isThere(ended)) return undefined;
    }
    throw contended();
  }

  #removeParts(fields: Fields | undefined): void {
    const place = fields && placeOf(fields);
    if (place) this.#later((then) => this.#parts.remove(then, this.#stream, place.id));
  }

  #know(seq: number, fields: Fields): void {
    this.#known.delete(seq);
    this.#known.set(seq, fields);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

function isThere(head: Kept | undefined): head is Kept {
  return head !== undefined && isValid(head.fields);
}

function isValid(fields: Fields): boolean {
  return !isGone(fields) && !hasEnded(fields, Date.now());
}

/** Whether a message is a deletion. */
export function isGone(fields: Fields): boolean {
  return fields[GONE] !== undefined;
}

/** Whether nothing is there any more by then. */
export function hasEnded(fields: Fields, now: number): boolean {
  const until = fields[UNTIL];
  return until !== undefined && Number(until) <= now;
}

function contended(): Error {
  return new Error("too many gateways write the same value at once");
}
