import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LostConnections } from "./lost-connections.ts";

/** Connections of one worker that are kept; a client of a further one sees its connection break with the worker. */
export const MAX_KEPT = 4_096;
/** The file with the marks, as a worker has it. */
export const MARKS_FD = 4;

/** What a worker sends along with a connection: its place in the marks. */
export interface KeptConnection {
  readonly keep: number;
}

/** A connection that is open in this process, too, and neither read nor written here. */
interface Handle {
  close(): void;
}

/** What became of the connections of a worker that was killed. */
export interface Loss {
  /** Those that got an answer, whether or not somebody waited for one. */
  readonly answered: number;
  /** Those closed in the middle of an answer, and WebSockets. */
  readonly interrupted: number;
}

/** The connections of one worker. They are open here, too, so that the end of their worker is not theirs. */
export class KeptConnections {
  /** Marks of the worker, one byte for each place: 1 for one that must not be written into. */
  readonly marks: number;
  readonly #handles = new Map<number, Handle>();

  /** @throws where no temporary file can be made */
  constructor() {
    const folder = mkdtempSync(join(tmpdir(), "propylon-"));
    try {
      this.marks = openSync(join(folder, "marks"), "wx+", 0o600);
      // Now, and not when the disk is full.
      writeSync(this.marks, new Uint8Array(MAX_KEPT));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** Takes a connection, if that is what a message brings. */
  take(message: unknown, handle: unknown): void {
    const place = (message as Partial<KeptConnection> | null)?.keep;
    if (!isHandle(handle) || !isPlace(place)) return;
    this.drop([place]);
    this.#handles.set(place, handle);
  }

  /** Gives up connections that their worker has closed: until then their clients do not see it. */
  drop(places: readonly number[]): void {
    for (const place of places) {
      this.#handles.get(place)?.close();
      this.#handles.delete(place);
    }
  }

  /** Ends with a worker that has answered all that it was asked. */
  close(): void {
    closeSync(this.marks);
    this.drop([...this.#handles.keys()]);
  }

  /** Ends with a worker that was killed, for whose answers somebody may wait. */
  passOn(lost: LostConnections): Loss {
    const marks = new Uint8Array(MAX_KEPT);
    readSync(this.marks, marks, 0, MAX_KEPT, 0);
    const places = [...this.#handles.keys()];
    const begun = places.filter((place) => marks[place] !== 0);
    this.drop(begun);
    for (const handle of this.#handles.values()) lost.take(socketOf(handle));
    this.#handles.clear();
    closeSync(this.marks);
    return { answered: places.length - begun.length, interrupted: begun.length };
  }
}

function isHandle(handle: unknown): handle is Handle {
  return typeof (handle as Partial<Handle> | null | undefined)?.close === "function";
}

function isPlace(place: unknown): place is number {
  return Number.isInteger(place) && (place as number) >= 0 && (place as number) < MAX_KEPT;
}

function socketOf(handle: Handle): Socket {
  return new Socket({ handle } as object);
}
