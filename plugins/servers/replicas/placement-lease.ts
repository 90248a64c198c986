import { once } from "node:events";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { type ManagedServer, pause } from "propylon/kit";
import { type Kv, type Lease, storeKey, type Store } from "propylon/store";
import { z } from "zod";

/**
 * After how long without a sign of life of the replica that runs a server another one starts it, and how much earlier that replica
 * has killed its child, in milliseconds.
 */
const TTL_MS = 1_500;
const MARGIN_MS = 400;
/** Wait before it is tried again to run what could not be, in milliseconds. */
const RETRY_MS = 500;
/** Longest that calls may still run before the server moves, in milliseconds. */
const MOVE_MS = 10_000;
/** Writers of one record at a time are few. */
const MAX_TRIES = 10;

export const placementSchema = z.object({
  /** Id of the replica that runs it; `null`: none. */
  replica: z.string().nullable(),
  host: z.string().nullable(),
  since: z.string().nullable(),
  /** Of its lease, or the last one's. */
  fence: z.number(),
  moves: z.number(),
  /** Whether the replica before had not given it up: it died, or lost it. */
  taken: z.boolean().exactOptional(),
});

/** Where a server runs, as the store has it. */
export type PlacementRecord = z.output<typeof placementSchema>;

/** A server of this gateway that is placed. */
export interface Placed {
  /** What runs of it here. */
  readonly local: ManagedServer | undefined;
  /** It is to run here. @param kill its children must be gone when this aborts */
  begin(kill: AbortSignal): void;
  /** It is not to run here any more; resolves when nothing of it does. @param graceMs for its calls in flight */
  end(graceMs: number): Promise<void>;
  /** The record is another. */
  moved(): void;
}

/** What a {@link PlacementLease} works with. */
export interface PlacementOptions {
  /** Name of the server. */
  readonly name: string;
  readonly store: Store;
  readonly records: Kv<PlacementRecord>;
  readonly log: Logger;
}

/**
 * Where one server runs: at the replica that holds its lease. Outlives reloads, so that a changed entry follows the previous one at
 * the same replica.
 */
export class PlacementLease {
  readonly #options: PlacementOptions;
  readonly #over = new AbortController();
  readonly #placed = new Set<Placed>();
  #grace = MOVE_MS;
  #running: Promise<void> | undefined;
  /** While it is held here. */
  lease: Lease | undefined;
  record: PlacementRecord | undefined;

  constructor(options: PlacementOptions) {
    this.#options = options;
  }

  /** Whether nothing here wants it any more. */
  get isEmpty(): boolean {
    return this.#placed.size === 0;
  }

  /** The servers of this gateway that share it: two of them while a reload puts one in the place of another. */
  get placed(): Iterable<Placed> {
    return this.#placed;
  }

  /** A server takes part from now on. */
  join(server: Placed): void {
    this.#placed.add(server);
    if (this.lease) server.begin(this.lease.signal);
    else server.moved();
    this.#running ??= this.#run();
  }

  /** A server takes part no more; resolves when nothing of it runs. @param graceMs for its calls in flight */
  async leave(server: Placed, graceMs: number): Promise<void> {
    this.#placed.delete(server);
    await server.end(graceMs);
    if (this.isEmpty) await this.stop(graceMs);
  }

  /** Gives it to another replica, once and for all; resolves when nothing of it runs here. */
  async stop(graceMs = MOVE_MS): Promise<void> {
    this.#grace = graceMs;
    this.#over.abort();
    await this.#running;
  }

  /** The store has another record. */
  tell(record: PlacementRecord | undefined): void {
    // What comes late is of an earlier holder.
    if (record && record.fence < (this.record?.fence ?? 0)) return;
    this.record = record;
    for (const server of this.#placed) server.moved();
  }

  async #run(): Promise<void> {
    const { store, name, log } = this.#options;
    const { signal } = this.#over;
    const options = { ttl: TTL_MS, margin: MARGIN_MS, signal };
    while (!signal.aborted) {
      try {
        await this.#hold(await store.lease(`placement/${name}`, options));
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error, server: name }, "the server could not be placed here");
        await pause(RETRY_MS, signal);
      }
    }
  }

  async #hold(lease: Lease): Promise<void> {
    const { name, store, log } = this.#options;
    try {
      if (this.#over.signal.aborted || !lease.isHeld) return;
      // Before the others are told of it: a replica that asks then is served, and the child starts meanwhile.
      this.lease = lease;
      for (const server of this.#placed) server.begin(lease.signal);
      const here = { replica: store.replica, host: hostname(), since: new Date().toISOString() };
      const record = await this.#write(lease.fence, here);
      this.tell(record);
      log.info({ server: name, moves: record.moves }, "the server runs at this replica");
      await untilAborted(AbortSignal.any([lease.signal, this.#over.signal]));
    } finally {
      await this.#end(lease);
    }
  }

  async #end(lease: Lease): Promise<void> {
    const isLost = lease.signal.aborted;
    const grace = isLost ? 0 : this.#grace;
    this.lease = undefined;
    await Promise.all([...this.#placed].map((server) => server.end(grace)));
    if (isLost) this.#options.log.warn({ server: this.#options.name }, "the server was given up");
    else await this.#write(lease.fence, { replica: null, host: null, since: null }).catch(() => {});
    await lease.release();
  }

  /** @throws {Error} when a holder of later has written */
  async #write(
    fence: number,
    where: Pick<PlacementRecord, "replica" | "host" | "since">,
  ): Promise<PlacementRecord> {
    const { name, records } = this.#options;
    const key = storeKey(name);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = await records.get(key);
      const { fence: last = fence, moves = 0, replica = null } = before?.value ?? {};
      if (last > fence) break;
      const hasMoved = last < fence;
      const record = {
        ...where,
        fence,
        moves: hasMoved ? moves + 1 : moves,
        taken: hasMoved && replica !== null,
      };
      if ((await records.update(key, record, before?.rev ?? 0)) !== undefined) return record;
    }
    throw new Error("Somebody else wrote where the server runs.");
  }
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
