import { randomUUID } from "node:crypto";
import { digestOf, FIRST_PROBLEM } from "propylon/kit";
import type { Kv, Store, Unsubscribe } from "propylon/store";
import type { Bucket, PresignedRead } from "./bucket.ts";
import {
  bytesSchema,
  entrySchema,
  workSchema,
  type Bytes,
  type IndexEntry,
  type PayloadWork,
} from "./entries.ts";
import { PayloadFolder } from "./folder.ts";
import { Leftovers } from "./leftovers.ts";
import { objectNameOf, Places } from "./places.ts";
import type { PayloadInfo } from "./service.ts";
import {
  fileNameOf,
  Overtaken,
  readEntries,
  type PayloadContent,
  type PayloadStorage,
  type SharedIndex,
} from "./storage.ts";

/** Looks at the index, where the bytes that it named are gone: others may replace them again and again. */
const MAX_LOOKS = 5;

/** An entry, and the revision of it in the store. */
interface Known {
  readonly entry: IndexEntry;
  readonly rev: number;
}

/**
 * In the gateway's store: an index, and the bytes in pieces; large ones in a folder or a bucket, if there is one. Bytes have a new name
 * with every write, and the index names them last, so what it names is there. What is written or removed is noted before: what a crash
 * leaves behind is found by that, without reading everything.
 */
export class IndexedStorage implements PayloadStorage, SharedIndex {
  readonly #store: Store;
  readonly #folder: PayloadFolder | undefined;
  readonly #places: Places;
  readonly #index: Kv<IndexEntry>;
  readonly #works: Kv<PayloadWork>;
  readonly #leftovers = new Leftovers((key) => this.#settleNoted(key));
  /** By key of the index. */
  readonly #known = new Map<string, Known>();
  #onChange: (id: string) => void = () => {};
  #stopWatching: Unsubscribe | undefined;
  #isLoaded = false;

  /** @param folder for large payloads, and with what there was before the store */
  constructor(store: Store, folder: string | undefined) {
    this.#store = store;
    this.#folder = folder === undefined ? undefined : new PayloadFolder(folder);
    this.#places = new Places(store, this.#folder);
    this.#index = store.kv("index", { schema: entrySchema });
    this.#works = store.kv("works", { schema: workSchema });
  }

  get shared(): SharedIndex | undefined {
    return this.#store.shared ? this : undefined;
  }

  async use(bucket: Bucket | undefined): Promise<void> {
    await bucket?.open();
    this.#places.bucket = bucket;
  }

  follow(onChange: (id: string) => void): void {
    this.#onChange = onChange;
  }

  async load(): Promise<ReadonlyMap<string, PayloadInfo>> {
    if (!this.#isLoaded) await this.#load();
    this.#isLoaded = true;
    return new Map([...this.#known.values()].map(({ entry: { id, info } }) => [id, info]));
  }

  info(id: string): PayloadInfo | undefined {
    return this.#known.get(digestOf(id))?.entry.info;
  }

  async refresh(id: string): Promise<void> {
    const key = digestOf(id);
    const there = await this.#index.get(key);
    if (there) this.#adopt(key, there.value, there.rev);
    else this.#known.delete(key);
  }

  async read(id: string): Promise<PayloadContent> {
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      const known = this.#known.get(digestOf(id));
      if (!known) break;
      const { info, members } = known.entry;
      const bytes = await this.#places.read(known.entry);
      let at = 0;
      if (bytes) return { info, members: members.map((each) => bytes.subarray(at, (at += each))) };
      await this.refresh(id);
      // What is lost is no longer a payload.
      if (this.#known.get(digestOf(id))?.rev === known.rev) break;
    }
    return { members: [] };
  }

  async write(
    id: string,
    members: readonly Uint8Array[],
    info: PayloadInfo,
    old?: PayloadInfo,
  ): Promise<void> {
    this.#leftovers.check();
    const all = Buffer.concat(members);
    const bytes = this.#places.choose(all.length);
    const key = digestOf(id);
    const before = this.#known.get(key);
    this.#expect(before, old);
    await this.#noting(id, before ? [bytes, before.entry] : [bytes], async () => {
      const digest = await this.#places.write(bytes, all);
      const lengths = members.map(({ length }) => length);
      const entry = { ...bytes, id, info, members: lengths, ...(digest && { digest }) };
      const rev = await this.#index.update(key, entry, before?.rev ?? 0);
      if (rev === undefined) await this.#giveWay(id);
      else this.#adopt(key, entry, rev);
      return entry.token;
    });
  }

  async remove(id: string, old: PayloadInfo): Promise<void> {
    const key = digestOf(id);
    const known = this.#known.get(key);
    if (!known) return;
    this.#expect(known, old);
    await this.#noting(id, [known.entry], async () => {
      const isMine = await this.#index.delete(key, known.rev);
      if (this.#known.get(key) === known) this.#known.delete(key);
      if (isMine) return undefined;
      // Another replica removed it, and cleans up after itself; or it wrote something else.
      await this.refresh(id);
      if (this.#known.has(key)) throw new Overtaken();
      return known.entry.token;
    });
  }

  async presign(id: string, read: PresignedRead): Promise<string | undefined> {
    const known = this.#known.get(digestOf(id));
    return known && this.#places.presign(known.entry, read);
  }

  async close(): Promise<void> {
    this.#leftovers.close();
    await this.#stopWatching?.();
    await this.#places.bucket?.close();
    await this.#folder?.close();
  }

  async #load(): Promise<void> {
    if (this.#store.shared)
      this.#stopWatching ??= await this.#index.watch("", (key, entry) => this.#hear(key, entry));
    else for await (const { key, value, rev } of this.#index.list()) this.#adopt(key, value, rev);
    await this.#finishWorks();
    if (this.#folder) await this.#loadFolder(this.#folder);
  }

  #hear(
    key: string,
    there: { readonly value: IndexEntry; readonly rev: number } | undefined,
  ): void {
    const before = this.#known.get(key);
    if (there) this.#adopt(key, there.value, there.rev);
    else this.#known.delete(key);
    const now = this.#known.get(key);
    const id = (now ?? before)?.entry.id;
    if (this.#isLoaded && now !== before && id !== undefined) this.#onChange(id);
  }

  /** What is told late is not taken for news. */
  #adopt(key: string, entry: IndexEntry, rev: number): void {
    if ((this.#known.get(key)?.rev ?? 0) < rev) this.#known.set(key, { entry, rev });
  }

  /** A change may have been heard since the caller looked: its revision must not stand for what the caller never saw. */
  #expect(known: Known | undefined, old: PayloadInfo | undefined): void {
    if (this.shared && known?.entry.info !== old) throw new Overtaken();
  }

  async #giveWay(id: string): Promise<never> {
    await this.refresh(id);
    throw new Overtaken();
  }

  /** @param work tells the token of the bytes that stay */
  async #noting(
    id: string,
    bytes: readonly Bytes[],
    work: () => Promise<string | undefined>,
  ): Promise<void> {
    const key = randomUUID();
    const note = {
      replica: this.#store.replica,
      id,
      bytes: bytes.map((each) => bytesSchema.parse(each, FIRST_PROBLEM)),
    };
    await this.#works.put(key, note);
    try {
      const staying = await work();
      // It is done; what cannot be cleaned up now is later.
      await this.#settle(key, note, staying).catch(() => this.#leftovers.add(key));
    } catch (error) {
      this.#leftovers.add(key);
      throw error;
    }
  }

  async #settle(key: string, { bytes }: PayloadWork, staying: string | undefined): Promise<void> {
    for (const each of bytes) if (each.token !== staying) await this.#places.remove(each);
    await this.#works.delete(key);
  }

  async #settleNoted(key: string): Promise<void> {
    const note = (await this.#works.get(key))?.value;
    if (!note) return;
    const named = await this.#index.get(digestOf(note.id));
    await this.#settle(key, note, named?.value.token);
  }

  /** Removes what was being written or removed by processes that ended, and is not named by the index. */
  async #finishWorks(): Promise<void> {
    const others = await this.#store.others();
    for await (const { key, value } of this.#works.list())
      if (value.replica !== this.#store.replica && !others.has(value.replica))
        await this.#settleNoted(key).catch(() => this.#leftovers.add(key));
  }

  /** Takes in what the folder had before there was a store, and makes index and folder agree. */
  async #loadFolder(folder: PayloadFolder): Promise<void> {
    const names = new Set(await folder.open());
    for await (const { id, info } of readEntries(folder, [...names])) {
      const file = fileNameOf(id, "gz");
      if (names.has(file) && !this.#known.has(digestOf(id)))
        await this.write(id, [await folder.read(file)], info);
    }
    if (this.#store.shared) return;
    const files = [...this.#known.values()].filter(({ entry }) => entry.place === "folder");
    const wanted = new Set(files.map(({ entry }) => objectNameOf(entry)));
    const there = new Set(await folder.open());
    for (const name of there) if (!wanted.has(name)) await folder.remove(name);
    for (const { entry } of files)
      if (!there.has(objectNameOf(entry))) await this.remove(entry.id, entry.info);
  }
}
