import { randomUUID } from "node:crypto";
import type { Kept, StoreRequest, Fields } from "../link/request.ts";
import type { Subjects } from "./subjects.ts";

/** Name of the field that says where the body is: an id and a count. */
export const PARTS = "Propylon-Parts";
/** Bytes of a message that its fields and what the server adds may have. */
const FIELDS = 8 * 1024;
/** Largest body of a message, whatever the server takes: it is answered as JSON, in memory. */
const MAX_BODY = 1024 * 1024;

/** A body as a message has it: itself, or where its parts are. */
export interface StoredBody {
  readonly data: Buffer;
  readonly fields: Fields;
}

/** Where the parts of a body are. */
export interface PartsPlace {
  readonly id: string;
  readonly count: number;
}

/** Bodies of any size: what does not fit a message is stored in parts before it, which only the message that names them shows. */
export class Parts {
  readonly #subjects: Subjects;

  constructor(subjects: Subjects) {
    this.#subjects = subjects;
  }

  async write(request: StoreRequest, stream: string, data: Buffer): Promise<StoredBody> {
    const size = Math.min(request.room, MAX_BODY + FIELDS) - FIELDS;
    if (data.length <= size) return { data, fields: {} };
    const id = randomUUID();
    const count = Math.ceil(data.length / size);
    const parts = Array.from({ length: count }, (_, index) =>
      data.subarray(index * size, (index + 1) * size),
    );
    await Promise.all(
      parts.map((part, index) =>
        request.publish(this.#subjects.part(stream, id, index), part, {}, 0),
      ),
    );
    return { data: Buffer.alloc(0), fields: { [PARTS]: `${id} ${count}` } };
  }

  /** @returns `undefined` when a part is missing: somebody has replaced the message */
  async read(
    request: StoreRequest,
    stream: string,
    { data, fields }: Kept,
  ): Promise<Buffer | undefined> {
    const place = placeOf(fields);
    if (!place) return data;
    const subjects = Array.from({ length: place.count }, (_, index) =>
      this.#subjects.part(stream, place.id, index),
    );
    const parts = await Promise.all(
      subjects.map((subject) => request.find(stream, { last_by_subj: subject })),
    );
    const bodies = parts.flatMap((part) => (part ? [part.data] : []));
    return bodies.length === place.count ? Buffer.concat(bodies) : undefined;
  }

  async remove(request: StoreRequest, stream: string, id: string): Promise<void> {
    await request.purge(stream, this.#subjects.part(stream, id, ">"));
  }
}

/** More parts than any body of ours has are none of ours. */
const MAX_PARTS = 100_000;

export function placeOf(fields: Fields): PartsPlace | undefined {
  const [, id, count] = /^([0-9a-f-]{36}) (\d{1,6})$/.exec(fields[PARTS] ?? "") ?? [];
  if (id === undefined || Number(count) > MAX_PARTS) return undefined;
  return { id, count: Number(count) };
}
