import { randomUUID } from "node:crypto";
import { GatewayError } from "propylon";
import { storeKey, type Kv, type Store } from "propylon/store";
import { z } from "zod";
import type { Bucket, PresignedRead } from "./bucket.ts";
import { lengthOf, type Bytes, type IndexEntry } from "./entries.ts";
import type { PayloadFolder } from "./folder.ts";
import { fileNameOf } from "./storage.ts";

/** Bytes up to which a payload stands in the store although there is a folder or a bucket. */
const SMALL = 64 * 1024;
/** Bytes of a payload in one value. */
const PIECE = 192 * 1024;

/** Where the bytes of payloads lie: in values of the store, in a folder, in a bucket. */
export class Places {
  /** Where large payloads go; changes with the config. */
  bucket: Bucket | undefined;
  readonly #folder: PayloadFolder | undefined;
  readonly #pieces: Kv<string>;
  readonly #isShared: boolean;

  constructor(store: Store, folder: PayloadFolder | undefined) {
    this.#folder = folder;
    this.#pieces = store.kv("bytes", { schema: z.string() });
    this.#isShared = store.shared;
  }

  /** Where so many new bytes belong. A folder is one gateway's, a bucket and the store are not. */
  choose(length: number): Bytes {
    const token = randomUUID();
    if (length > SMALL && this.bucket) return { token, place: "bucket", pieces: 0 };
    if (length > SMALL && this.#folder && !this.#isShared)
      return { token, place: "folder", pieces: 0 };
    return { token, place: "store", pieces: Math.max(1, Math.ceil(length / PIECE)) };
  }

  /** @returns the digest of bytes that others could change */
  async write(bytes: Bytes, all: Buffer): Promise<string | undefined> {
    if (bytes.place === "bucket") return this.#bucketOf().put(objectNameOf(bytes), all);
    if (bytes.place === "folder") await this.#folder?.write(objectNameOf(bytes), [all]);
    for (let number = 0; number < bytes.pieces; number++) {
      const piece = all.subarray(number * PIECE, (number + 1) * PIECE);
      await this.#pieces.put(pieceKey(bytes, number), piece.toString("base64"));
    }
    return undefined;
  }

  /** All bytes of an entry; absent where they are not whole, as those of one that was just replaced. */
  async read(entry: IndexEntry): Promise<Buffer | undefined> {
    const length = lengthOf(entry);
    const bytes = await this.#read(entry, length);
    return bytes?.length === length ? bytes : undefined;
  }

  async remove(bytes: Bytes): Promise<void> {
    if (bytes.place === "bucket") await this.#bucketOf().remove(objectNameOf(bytes));
    if (bytes.place === "folder") await this.#folder?.remove(objectNameOf(bytes));
    for (let number = 0; number < bytes.pieces; number++)
      await this.#pieces.delete(pieceKey(bytes, number));
  }

  /** A URL of bytes that are one member in the bucket: some clients read no second one. */
  async presign(entry: IndexEntry, read: PresignedRead): Promise<string | undefined> {
    if (entry.place !== "bucket" || entry.members.length !== 1) return undefined;
    return this.#bucketOf().presign(objectNameOf(entry), read);
  }

  async #read(entry: IndexEntry, length: number): Promise<Buffer | undefined> {
    const { place, digest = "" } = entry;
    if (place === "bucket") return this.#bucketOf().get(objectNameOf(entry), { length, digest });
    return place === "folder" ? this.#folder?.read(objectNameOf(entry)) : this.#readPieces(entry);
  }

  async #readPieces(entry: IndexEntry): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let number = 0; number < entry.pieces; number++) {
      const piece = await this.#pieces.get(pieceKey(entry, number));
      pieces.push(Buffer.from(piece?.value ?? "", "base64"));
    }
    return Buffer.concat(pieces);
  }

  #bucketOf(): Bucket {
    if (this.bucket) return this.bucket;
    throw new GatewayError(
      "unavailable",
      "The payload is in a bucket that the gateway does not have.",
      {
        hint: "Put plugins.payloads.bucket back into the config until its payloads have ended.",
      },
    );
  }
}

/** Name of the file or object with these bytes. */
export function objectNameOf({ token }: Pick<Bytes, "token">): string {
  return fileNameOf(token, "gz");
}

function pieceKey({ token }: Bytes, number: number): string {
  return storeKey(token, String(number));
}
