import { createGunzip, gzip } from "node:zlib";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { GatewayError } from "propylon";
import { FairQuota, setTimer } from "propylon/kit";
import type { PayloadsOptions } from "./options.ts";
import type { PayloadInfo, PayloadStore } from "./service.ts";
import type { Bucket } from "./bucket.ts";
import { Overtaken, type PayloadStorage } from "./storage.ts";

/** Runs in a thread of its own, so that a large payload holds nobody up. */
const compress = promisify(gzip);

/** Shortest time between two looks for what is over, in milliseconds: a folder that refuses must not be asked without end. */
const SWEEP_MS = 1_000;
/** Payloads that are removed together. */
const BATCH = 50;
/** How often something begins again, because another replica changed the payload. */
const ATTEMPTS = 5;

/** Limits in bytes, and where a client fetches a payload. */
export interface StoreSettings extends Pick<
  PayloadsOptions,
  "maxSize" | "maxTotalSize" | "maxPayloads"
> {
  urlOf(id: string): string;
}

/** How much is stored. */
export interface Usage {
  readonly count: number;
  readonly bytes: number;
}

/** How a payload is kept. */
export type Placement = Parameters<PayloadStore["put"]>[2] & {
  /** How much of the whole room its owner may have with it. Default: 1. */
  readonly share?: number;
};

/** Payloads by id: compressed, counted, and dropped when their time is over. */
export class Store implements PayloadStore {
  readonly #storage: PayloadStorage;
  readonly #infos = new Map<string, PayloadInfo>();
  /** Writes of one id wait for each other. */
  readonly #queues = new Map<string, Promise<unknown>>();
  readonly #bytesOf = new FairQuota();
  readonly #countOf = new FairQuota();
  #settings: StoreSettings = { maxSize: 0, maxTotalSize: 0, maxPayloads: 0, urlOf: (id) => id };
  #stored = 0;
  #expiry: NodeJS.Timeout | undefined;
  /** When the clock is set for, in milliseconds since 1970. */
  #sweepAt = Infinity;
  #isLoaded = false;

  constructor(storage: PayloadStorage) {
    this.#storage = storage;
  }

  /** Settings for what is stored from now on. */
  configure(settings: StoreSettings): void {
    this.#settings = settings;
  }

  /** How many there are, and their bytes as stored. */
  get usage(): Usage {
    return { count: this.#infos.size, bytes: this.#stored };
  }

  /** The same of one owner. */
  usageOf(owner: string): Usage {
    return { count: this.#countOf.of(owner), bytes: this.#bytesOf.of(owner) };
  }

  /**
   * The newest, newest first.
   * @param owner whose; `undefined` is everybody's
   */
  newest(most: number, owner?: string): readonly Listed[] {
    const meant = [...this.#infos].filter(
      ([, info]) => (owner === undefined || info.owner === owner) && !isOver(info),
    );
    return newestOf(meant, most);
  }

  /**
   * Takes in what the storage has from before; the second time there is nothing to take in.
   * @param bucket for large payloads
   */
  async load(bucket?: Bucket): Promise<void> {
    await this.#storage.use?.(bucket);
    if (this.#isLoaded) return;
    this.#storage.shared?.follow((id) => void this.#inTurn(id, async () => this.#take(id)));
    for (const [id, info] of await this.#storage.load()) this.#remember(id, info);
    this.#isLoaded = true;
    this.#scheduleNext();
  }

  /** Stops the clock; what is stored stays. */
  async close(): Promise<void> {
    clearTimeout(this.#expiry);
    await this.#storage.close();
  }

  put(id: string, content: string | Uint8Array, placement: Placement): Promise<PayloadInfo> {
    return this.#inTurn(id, () => this.#store(id, content, placement, []));
  }

  append(id: string, content: string | Uint8Array, placement: Placement): Promise<PayloadInfo> {
    return this.#inTurn(id, async () => this.#store(id, content, placement, await this.#read(id)));
  }

  async find(id: string): Promise<PayloadInfo | undefined> {
    const { shared } = this.#storage;
    if (shared && !this.info(id)) {
      await shared.refresh(id);
      await this.#inTurn(id, async () => this.#take(id));
    }
    return this.info(id);
  }

  info(id: string): PayloadInfo | undefined {
    const info = this.#infos.get(id);
    return info && !isOver(info) ? info : undefined;
  }

  /** Appended pieces are gzip members of their own, which some clients stop after: they become one. */
  async gzip(id: string): Promise<Uint8Array | undefined> {
    return this.#inTurn(id, async () => {
      const members = await this.#read(id);
      const info = this.info(id);
      if (!info) return undefined;
      if (members.length <= 1) return members[0];
      const whole = await compress(await collect(members, 0, info.size));
      await this.#keep(id, [whole], { ...info, stored: whole.length });
      return whole;
    });
  }

  async slice(id: string, from: number, to: number): Promise<Uint8Array | undefined> {
    const members = this.info(id) ? (await this.#storage.read(id)).members : [];
    return members.length === 0 ? undefined : collect(members, from, to);
  }

  delete(id: string): Promise<boolean> {
    return this.#remove(id, () => true);
  }

  /**
   * A URL at which the bucket has the payload for a time, and no longer than that is kept.
   * @param ttl milliseconds
   */
  async presign(id: string, method: "GET" | "HEAD", ttl: number): Promise<string | undefined> {
    const info = this.info(id);
    if (!info || !this.#storage.presign) return undefined;
    const left = Math.min(ttl, endOf(info) - Date.now());
    return this.#storage.presign(id, { method, mimeType: info.mimeType, ttl: left });
  }

  url(id: string): string {
    return this.#settings.urlOf(id);
  }

  /** The members, in turn. Where others changed them, what is known of them is theirs from then on, too. */
  async #read(id: string): Promise<readonly Uint8Array[]> {
    if (!this.info(id)) return [];
    const { members, info } = await this.#storage.read(id);
    if (info) this.#remember(id, info);
    else if (this.#storage.shared) this.#take(id);
    return members;
  }

  #remove(id: string, isMeant: (info: PayloadInfo) => boolean): Promise<boolean> {
    return this.#inTurn(id, async () => {
      const info = this.#infos.get(id);
      if (!info || !isMeant(info)) return false;
      await this.#storage.remove(id, info);
      this.#forget(id);
      return true;
    });
  }

  async #store(
    id: string,
    content: string | Uint8Array,
    { owner, mimeType = "text/plain; charset=utf-8", ttl, share = 1 }: Placement,
    before: readonly Uint8Array[],
  ): Promise<PayloadInfo> {
    const old = before.length > 0 ? this.info(id) : undefined;
    const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
    const size = (old?.size ?? 0) + bytes.length;
    if (size > this.#settings.maxSize) throw tooLarge("One payload", size, this.#settings.maxSize);
    const members = [...before, await compress(bytes)];
    const stored = members.reduce((sum, { length }) => sum + length, 0);
    const now = Date.now();
    const info: PayloadInfo = {
      size,
      stored,
      mimeType: old?.mimeType ?? mimeType,
      owner: old?.owner ?? owner,
      createdAt: old?.createdAt ?? new Date(now).toISOString(),
      ...(ttl !== undefined && { expiresAt: new Date(now + ttl).toISOString() }),
    };
    await this.#keep(id, members, info, share);
    return info;
  }

  async #keep(
    id: string,
    members: readonly Uint8Array[],
    info: PayloadInfo,
    share = 1,
  ): Promise<void> {
    this.#checkRoom(id, info, share);
    // Counted before it is written, so that writes at the same time cannot pass the limit together.
    const old = this.#infos.get(id);
    this.#remember(id, info);
    try {
      await this.#storage.write(id, members, info, old);
    } catch (error) {
      this.#forget(id);
      if (old) this.#remember(id, old);
      throw error;
    }
    this.#schedule(endOf(info));
  }

  /** @throws {GatewayError} `too_large` */
  #checkRoom(id: string, { stored, owner }: PayloadInfo, share: number): void {
    const { maxTotalSize, maxPayloads } = this.#settings;
    const old = this.#infos.get(id);
    const more = stored - (old?.stored ?? 0);
    const added = old ? 0 : 1;
    if (this.#stored + more > maxTotalSize)
      throw tooLarge("All payloads together", this.#stored + more, maxTotalSize);
    if (this.#infos.size + added > maxPayloads) throw tooMany(maxPayloads);
    // Nobody can take the room of others.
    if (share === 1) return;
    if (this.#bytesOf.of(owner) + more > maxTotalSize * share)
      throw tooLarge(
        "All payloads of one owner",
        this.#bytesOf.of(owner) + more,
        maxTotalSize * share,
      );
    if (this.#countOf.of(owner) + added > maxPayloads * share) throw tooMany(maxPayloads * share);
  }

  #remember(id: string, info: PayloadInfo): void {
    this.#forget(id);
    this.#infos.set(id, info);
    this.#stored += info.stored;
    this.#bytesOf.add(info.owner, info.stored);
    this.#countOf.add(info.owner);
  }

  #forget(id: string): void {
    const info = this.#infos.get(id);
    if (!info) return;
    this.#infos.delete(id);
    this.#stored -= info.stored;
    this.#bytesOf.remove(info.owner, info.stored);
    this.#countOf.remove(info.owner);
  }

  async #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const done = before.then(() => this.#again(id, work));
    const settled = done.catch(() => {});
    this.#queues.set(id, settled);
    try {
      return await done;
    } finally {
      if (this.#queues.get(id) === settled) this.#queues.delete(id);
    }
  }

  async #again<T>(id: string, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error;
        this.#take(id);
      }
    }
    throw new GatewayError("unavailable", "Other replicas keep changing this payload.", {
      hint: "Make the request again.",
    });
  }

  /** What another replica made of it. */
  #take(id: string): void {
    const info = this.#storage.shared?.info(id);
    if (!info) return this.#forget(id);
    this.#remember(id, info);
    this.#schedule(endOf(info));
  }

  /** One clock for whatever ends next. */
  #schedule(end: number): void {
    if (end >= this.#sweepAt) return;
    this.#sweepAt = end;
    clearTimeout(this.#expiry);
    const wait = Math.max(SWEEP_MS, end - Date.now());
    this.#expiry = setTimer(() => void this.#sweep(), wait).unref();
  }

  #scheduleNext(): void {
    let next = Infinity;
    for (const info of this.#infos.values()) next = Math.min(next, endOf(info));
    this.#schedule(next);
  }

  async #sweep(): Promise<void> {
    const over = [...this.#infos].filter(([, info]) => isOver(info)).map(([id]) => id);
    // A file that cannot be removed is not served either, and is tried again with the next sweep.
    for (let at = 0; at < over.length; at += BATCH)
      await Promise.allSettled(over.slice(at, at + BATCH).map((id) => this.#remove(id, isOver)));
    this.#sweepAt = Infinity;
    this.#scheduleNext();
  }
}

/** When its time is over, in milliseconds since 1970. */
function endOf({ expiresAt }: PayloadInfo): number {
  return expiresAt === undefined ? Infinity : Date.parse(expiresAt);
}

function isOver(info: PayloadInfo): boolean {
  return endOf(info) <= Date.now();
}

/** Uncompressed bytes `from` to `to`; stops reading at the end of the span. */
async function collect(
  members: readonly Uint8Array[],
  from: number,
  to: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let at = 0;
  const source = Readable.from(members);
  for await (const chunk of source.pipe(createGunzip()) as AsyncIterable<Uint8Array>) {
    if (at + chunk.length > from) pieces.push(chunk.subarray(Math.max(0, from - at), to - at));
    at += chunk.length;
    if (at >= to) break;
  }
  source.destroy();
  return Buffer.concat(pieces);
}

function tooLarge(what: string, size: number, limit: number): GatewayError {
  return new GatewayError(
    "too_large",
    `${what} would be ${size} bytes; at most ${limit} are kept.`,
    {
      data: { size, limit },
      hint: "Put large work products into files, and their place into the payload.",
    },
  );
}

function tooMany(limit: number): GatewayError {
  return new GatewayError("too_large", `There are ${Math.floor(limit)} payloads already.`, {
    data: { limit: Math.floor(limit) },
    hint: "Wait until some have ended, or raise plugins.payloads.maxPayloads.",
  });
}

/** A payload with its id. */
type Listed = PayloadInfo & { readonly id: string };

/**
 * The newest of many, newest first. Nobody waits for all of them to be sorted: most are older than the last one that is taken, since
 * they are looked at from the end, where new ones stand.
 *
 * @param most how many
 */
export function newestOf(
  entries: Iterable<readonly [id: string, info: PayloadInfo]>,
  most: number,
): readonly Listed[] {
  const newest: Listed[] = [];
  for (const [id, info] of [...entries].toReversed()) {
    if (newest.length === most && info.createdAt <= newest.at(-1)!.createdAt) continue;
    const at = newest.findLastIndex(({ createdAt }) => createdAt >= info.createdAt) + 1;
    newest.splice(at, 0, { id, ...info });
    if (newest.length > most) newest.pop();
  }
  return newest;
}
