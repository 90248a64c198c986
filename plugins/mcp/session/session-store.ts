import { setImmediate } from "node:timers/promises";
import { GatewayError, isGatewayError } from "propylon";
import { pause, setTicker } from "propylon/kit";
import type { EndpointHost } from "propylon/internal";
import { type Entry, type Kv, type Store, storeKey } from "propylon/store";
import type { Session, SessionEnd, SessionTable } from "./session.ts";
import {
  changesSince,
  mergeWishes,
  type SessionRecord,
  sessionRecordSchema,
  type SessionWishes,
  toldLists,
  toSessionRecord,
} from "./session-record.ts";

/** Longest record, in characters of JSON: clients decide how many there are, and what they subscribe to. */
const MAX_RECORD = 65_536;
/** Wait between attempts while the store is away, in milliseconds. */
const RETRY_MS = 500;
/** Writes nobody waits for between two turns of the event loop: those to a file take no turn of their own. */
const SLICE = 16;
/** Attempts against replicas that write the same session at the same time. */
const ATTEMPTS = 5;

/** A session that other replicas may change, and what was known of its record last. */
interface Followed {
  readonly session: Session;
  known: SessionWishes;
}

/** What sessions are kept with. */
export interface SessionStoreOptions {
  readonly store: Store;
  readonly endpoint: string;
  /** Milliseconds after which an unused session ends. */
  readonly idle: number;
  /** Those that are open. */
  readonly sessions: SessionTable;
  /** Has a session as its client asked for it at another replica. */
  readonly onChange: (session: Session, wishes: SessionWishes) => void;
  readonly log: EndpointHost["log"];
}

/**
 * The sessions of an endpoint in a store that outlives the process. Writes of one session follow each other; those that nobody waits for
 * are done one at a time, and again while the store is away.
 */
export class SessionStore {
  readonly #kv: Kv<SessionRecord>;
  readonly #options: SessionStoreOptions;
  /** A record that is this old is written again, so that it does not end before its session. */
  readonly #fresh: number;
  readonly #ticker: NodeJS.Timeout;
  readonly #closed = new AbortController();
  /** The last write of each session that has one under way. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Writes that have not begun. */
  readonly #saving = new Map<Session, Promise<void>>();
  readonly #savedAt = new WeakMap<Session, number>();
  readonly #revs = new WeakMap<Session, number>();
  /** Sessions that ended: nothing of them is written any more. */
  readonly #gone = new WeakSet<Session>();
  /** Keys of those whose record may still be there. */
  readonly #ending = new Set<string>();
  readonly #later = new Map<string, () => Promise<void>>();
  /** Open sessions by the keys of their records, where other replicas may change these. */
  readonly #followed = new Map<string, Followed>();
  #isWorking = false;

  constructor(options: SessionStoreOptions) {
    const { store, idle } = options;
    this.#options = options;
    this.#fresh = idle / 4;
    // The last use may be as much later than the last write as one is put off.
    this.#kv = store.kv("sessions", { schema: sessionRecordSchema, ttl: idle + 2 * this.#fresh });
    this.#ticker = setTicker(() => this.#refresh(), Math.max(10, this.#fresh / 2)).unref();
    // What the driver refuses for good is refused at every request, too.
    if (store.shared) this.#follow().catch(() => {});
  }

  /**
   * Writes a session as it is then; several changes of one turn are one write.
   * @throws {GatewayError} `unavailable`, `too_large`
   */
  save(session: Session): Promise<void> {
    const waiting = this.#saving.get(session);
    if (waiting) return waiting;
    const saving = this.#inTurn(this.#keyOf(session.key), (key) => {
      this.#saving.delete(session);
      return this.#write(session, key);
    });
    this.#saving.set(session, saving);
    return saving;
  }

  /** Writes a session when there is time. */
  saveLater(session: Session): void {
    this.#doLater(session.key, () => this.save(session));
  }

  /**
   * Removes a session that its client gives up: it does not come back.
   * @throws {GatewayError} `unavailable`: it may go on
   */
  async delete(session: Session): Promise<void> {
    this.#gone.add(session);
    try {
      await this.#inTurn(this.#keyOf(session.key), (key) => this.#kv.delete(key));
    } catch (error) {
      this.#gone.delete(session);
      throw error;
    }
  }

  /** Removes a session that has ended; it is gone from now on, unless another replica uses one that was only unused here. */
  deleteLater(session: Session, reason: SessionEnd): void {
    const isOurs = reason === "revoked" || !this.#options.store.shared;
    this.#gone.add(session);
    this.#ending.add(session.key);
    this.#doLater(session.key, async () => {
      await this.#inTurn(this.#keyOf(session.key), (key) =>
        this.#kv.delete(key, isOurs ? undefined : this.#revs.get(session)),
      );
      this.#ending.delete(session.key);
    });
  }

  /**
   * The record of a session that is not open.
   * @throws {GatewayError} `unavailable`
   */
  async read(key: string): Promise<Entry<SessionRecord> | undefined> {
    return this.#ending.has(key) ? undefined : this.#kv.get(this.#keyOf(key));
  }

  /**
   * Takes over a session that was opened from what was {@link read}. A replica that it was unused at for long must not remove its
   * record, and it may have been ended since it was read: so it is written.
   */
  adopt(session: Session, entry: Entry<SessionRecord>): void {
    this.#note(session, entry.key, entry.rev, entry.value);
    if (this.#options.store.shared) this.saveLater(session);
  }

  /**
   * Has a session as it is in the store.
   * @throws {GatewayError} `unavailable`
   */
  refresh(session: Session): Promise<void> {
    return this.#inTurn(this.#keyOf(session.key), async (key) =>
      this.#catchUp(key, (await this.#kv.get(key))?.value),
    );
  }

  /** An open session of this key, for what another replica has for it. */
  find(key: string, principal: string): Session | undefined {
    const session = this.#followed.get(this.#keyOf(key))?.session;
    return session?.principal === principal ? session : undefined;
  }

  /** The session is not open any more. */
  forget(session: Session): void {
    if (this.#options.store.shared) this.#followed.delete(this.#keyOf(session.key));
  }

  /** Ends attempts; what is in the store stays. */
  close(): void {
    clearInterval(this.#ticker);
    this.#closed.abort();
    this.#followed.clear();
  }

  /** Other replicas write sessions that are open here, and end them. */
  async #follow(): Promise<void> {
    const stop = await this.#kv.watchKeys((changed) => {
      const keys = changed === undefined ? this.#followed.keys() : [changed];
      for (const key of keys) if (this.#followed.has(key)) this.#readLater(key);
    });
    if (this.#closed.signal.aborted) await stop();
    else this.#closed.signal.addEventListener("abort", () => void stop(), { once: true });
  }

  #readLater(key: string): void {
    const { session } = this.#followed.get(key)!;
    this.#doLater(`read ${key}`, () => this.refresh(session));
  }

  #keyOf(key: string): string {
    return storeKey(this.#options.endpoint, key);
  }

  async #write(session: Session, key: string): Promise<void> {
    if (this.#gone.has(session)) return;
    for (let attempt = 0, rev = this.#revs.get(session) ?? 0; attempt < ATTEMPTS; attempt++) {
      const now = Date.now();
      const record = recordWithinBounds(session);
      const written = await this.#kv.update(key, record, rev);
      if (written !== undefined) {
        this.#savedAt.set(session, now);
        return this.#note(session, key, written, record);
      }
      // What another replica wrote since then is newer than anything here, and nobody is left to bring both together.
      if (this.#closed.signal.aborted) break;
      // Something else is there than we wrote last: a write of which we had no answer, or what another replica did.
      const there = await this.#kv.get(key);
      this.#catchUp(key, there?.value);
      if (this.#gone.has(session)) return;
      rev = there?.rev ?? 0;
    }
    throw new GatewayError(
      "exists",
      "The session was changed at another replica at the same time.",
      {
        hint: "Make the request again.",
      },
    );
  }

  #note(session: Session, key: string, rev: number, record: SessionRecord): void {
    this.#revs.set(session, rev);
    if (this.#options.store.shared && !this.#gone.has(session))
      this.#followed.set(key, { session, known: record });
  }

  /** Brings a session in line with its record, which another replica may have changed, or removed. */
  #catchUp(key: string, record: SessionRecord | undefined): void {
    const followed = this.#followed.get(key);
    if (followed && record) this.#merge(followed, record);
    else if (followed) this.#endHere(followed.session, key);
  }

  #merge(followed: Followed, record: SessionRecord): void {
    const { session, known } = followed;
    this.#options.onChange(session, mergeWishes(known, toSessionRecord(session), record));
    followed.known = record;
    const { shared, replica } = this.#options.store;
    // The replica with its stream tells its client, and so knows what was told.
    if (!shared || session.home === replica) return;
    session.told = toldLists(record);
    session.changed = changesSince(session.told, session.view!);
  }

  #endHere(session: Session, key: string): void {
    this.#gone.add(session);
    this.#followed.delete(key);
    this.#options.sessions.delete(session);
  }

  #inTurn<T>(key: string, work: (key: string) => Promise<T>): Promise<T> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const run = before.catch(() => {}).then(() => work(key));
    this.#turns.set(key, run);
    const forget = (): void => {
      if (this.#turns.get(key) === run) this.#turns.delete(key);
    };
    run.then(forget, forget);
    return run;
  }

  /** Writes those in use whose record would end too soon. */
  #refresh(): void {
    const due = Date.now() - this.#fresh;
    for (const session of this.#options.sessions) {
      const savedAt = this.#savedAt.get(session) ?? 0;
      if (savedAt <= due && (session.busy || session.usedAt > savedAt)) this.saveLater(session);
    }
  }

  #doLater(key: string, work: () => Promise<void>): void {
    this.#later.set(key, work);
    if (!this.#isWorking) void this.#workOff();
  }

  async #workOff(): Promise<void> {
    this.#isWorking = true;
    let done = 0;
    for (const [key, work] of this.#later) {
      // Thousands that end together would hold up everything else, their own streams among it.
      if (++done % SLICE === 0) await setImmediate();
      if (this.#closed.signal.aborted) break;
      this.#later.delete(key);
      await work().catch((error: unknown) => this.#fail(key, work, error));
    }
    this.#isWorking = false;
  }

  async #fail(key: string, work: () => Promise<void>, err: unknown): Promise<void> {
    const { endpoint, log } = this.#options;
    if (!isGatewayError(err) || err.code !== "unavailable")
      return log.warn({ err, endpoint }, "a session could not be kept");
    if (!this.#later.has(key)) this.#later.set(key, work);
    await pause(RETRY_MS, this.#closed.signal);
  }
}

/** @throws {GatewayError} `too_large` */
function recordWithinBounds(session: Session): SessionRecord {
  const record = toSessionRecord(session);
  if (JSON.stringify(record).length <= MAX_RECORD) return record;
  throw new GatewayError("too_large", "The session would be too large to be kept.", {
    hint: "Subscribe to fewer resources.",
  });
}
