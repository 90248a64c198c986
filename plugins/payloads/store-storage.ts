import { randomUUID } from "node:crypto";
import { digestOf, storeKey, type Kv, type Store } from "propylon/kit";
import { z } from "zod";
import { PayloadFolder } from "./folder.ts";
import type { PayloadInfo } from "./service.ts";
import { fileNameOf, readEntries, type PayloadStorage } from "./storage.ts";

/** Bytes up to which a payload stands in the store although there is a folder. */
const SMALL = 64 * 1024;
/** Bytes of a payload in one value. */
const PIECE = 192 * 1024;

const entrySchema = z.object({
  id: z.string(),
  info: z.object({
    size: z.int().min(0),
    stored: z.int().min(0),
    mimeType: z.string(),
    owner: z.string(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().exactOptional(),
  }),
  /** Names these very bytes. */
  token: z.uuid(),
  /** Lengths of the gzip members. */
  members: z.array(z.int().min(0)),
  /** How many values hold the bytes; 0: a file. */
  pieces: z.int().min(0),
});
const bytesSchema = z.object({ token: z.uuid(), pieces: z.int().min(0) });
const workSchema = z.object({
  gateway: z.string(),
  id: z.string(),
  bytes: z.array(bytesSchema),
});

type Entry = z.output<typeof entrySchema>;
type Bytes = z.output<typeof bytesSchema>;
type Work = z.output<typeof workSchema>;

/**
 * In the gateway's store: an index, and the bytes in pieces; large ones in a folder, if there is one. Bytes have a new name with every
 * write, and the index names them last, so what it names is there. What is written or removed is noted before: what a crash leaves
 * behind is found by that, without reading everything.
 */
export class StoreStorage implements PayloadStorage {
  readonly #store: Store;
  readonly #folder: PayloadFolder | undefined;
  readonly #index: Kv<Entry>;
  readonly #pieces: Kv<string>;
  readonly #works: Kv<Work>;
  readonly #entries = new Map<string, Entry>();

  /** @param folder for large payloads, and with what there was before the store */
  constructor(store: Store, folder: string | undefined) {
    this.#store = store;
    this.#folder = folder === undefined ? undefined : new PayloadFolder(folder);
    this.#index = store.kv("index", { schema: entrySchema });
    this.#pieces = store.kv("bytes", { schema: z.string() });
    this.#works = store.kv("works", { schema: workSchema });
  }

  async load(): Promise<ReadonlyMap<string, PayloadInfo>> {
    for await (const { value } of this.#index.list()) this.#entries.set(value.id, value);
    await this.#finishWorks();
    if (this.#folder) await this.#loadFolder(this.#folder);
    return new Map([...this.#entries].map(([id, { info }]) => [id, info]));
  }

  async read(id: string): Promise<readonly Uint8Array[]> {
    const entry = this.#entries.get(id);
    if (!entry) return [];
    const bytes = entry.pieces === 0 ? await this.#readFile(entry) : await this.#readPieces(entry);
    let at = 0;
    return entry.members.map((length) => bytes.subarray(at, (at += length)));
  }

  async write(id: string, members: readonly Uint8Array[], info: PayloadInfo): Promise<void> {
    const token = randomUUID();
    const all = Buffer.concat(members);
    const folder = this.#store.shared || all.length <= SMALL ? undefined : this.#folder;
    const pieces = folder ? 0 : Math.max(1, Math.ceil(all.length / PIECE));
    const entry: Entry = { id, info, token, members: members.map(({ length }) => length), pieces };
    const before = this.#entries.get(id);
    const cleanUp = async (): Promise<void> => before && this.#removeBytes(before);
    await this.#noting(id, before ? [entry, before] : [entry], cleanUp, async () => {
      await folder?.write(fileOf(entry), [all]);
      for (let number = 0; number < pieces; number++) {
        const piece = all.subarray(number * PIECE, (number + 1) * PIECE);
        await this.#pieces.put(pieceKey(entry, number), piece.toString("base64"));
      }
      await this.#index.put(digestOf(id), entry);
      this.#entries.set(id, entry);
    });
  }

  async remove(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    await this.#noting(
      id,
      [entry],
      () => this.#removeBytes(entry),
      async () => {
        await this.#index.delete(digestOf(id));
        this.#entries.delete(id);
      },
    );
  }

  async close(): Promise<void> {
    await this.#folder?.close();
  }

  async #noting(
    id: string,
    bytes: readonly Bytes[],
    cleanUp: () => Promise<void>,
    work: () => Promise<void>,
  ): Promise<void> {
    const key = randomUUID();
    await this.#works.put(key, {
      gateway: this.#store.replica,
      id,
      bytes: bytes.map(({ token, pieces }) => ({ token, pieces })),
    });
    await work();
    // It is done; what cannot be cleaned up now is at the next start.
    await cleanUp()
      .then(() => this.#works.delete(key))
      .catch(() => {});
  }

  /** Removes what was being written or removed by processes that ended, and is not named by the index. */
  async #finishWorks(): Promise<void> {
    const others = this.#store.shared ? await this.#store.replicas() : [];
    const living = new Set(others.map(({ id }) => id));
    for await (const { key, value } of this.#works.list()) {
      if (living.has(value.gateway)) continue;
      const named = this.#entries.get(value.id)?.token;
      for (const bytes of value.bytes.filter(({ token }) => token !== named))
        await this.#removePieces(bytes);
      await this.#works.delete(key);
    }
  }

  /** Takes in what the folder had before there was a store, and makes index and folder agree. */
  async #loadFolder(folder: PayloadFolder): Promise<void> {
    const names = new Set(await folder.open());
    for await (const { id, info } of readEntries(folder, [...names])) {
      const file = fileNameOf(id, "gz");
      if (names.has(file) && !this.#entries.has(id))
        await this.write(id, [await folder.read(file)], info);
    }
    if (this.#store.shared) return;
    const files = [...this.#entries.values()].filter(({ pieces }) => pieces === 0);
    const wanted = new Set(files.map((entry) => fileOf(entry)));
    const there = new Set(await folder.open());
    for (const name of there) if (!wanted.has(name)) await folder.remove(name);
    for (const entry of files) if (!there.has(fileOf(entry))) await this.remove(entry.id);
  }

  async #readFile(entry: Entry): Promise<Buffer> {
    return (await this.#folder?.read(fileOf(entry))) ?? Buffer.alloc(0);
  }

  async #readPieces(entry: Entry): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let number = 0; number < entry.pieces; number++) {
      const piece = await this.#pieces.get(pieceKey(entry, number));
      pieces.push(Buffer.from(piece?.value ?? "", "base64"));
    }
    return Buffer.concat(pieces);
  }

  async #removeBytes(bytes: Bytes): Promise<void> {
    if (bytes.pieces === 0) await this.#folder?.remove(fileOf(bytes));
    await this.#removePieces(bytes);
  }

  async #removePieces(bytes: Bytes): Promise<void> {
    for (let number = 0; number < bytes.pieces; number++)
      await this.#pieces.delete(pieceKey(bytes, number));
  }
}

function pieceKey({ token }: Bytes, number: number): string {
  return storeKey(token, String(number));
}

function fileOf({ token }: Bytes): string {
  return fileNameOf(token, "gz");
}
