import { digestOf } from "propylon/kit";
import type { Bucket, PresignedRead } from "./bucket.ts";
import { PayloadFolder } from "./folder.ts";
import type { PayloadInfo } from "./service.ts";

/** Where compressed bytes lie. */
export interface PayloadStorage {
  /** What lies there already. */
  load(): Promise<ReadonlyMap<string, PayloadInfo>>;
  read(id: string): Promise<PayloadContent>;
  /**
   * Replaces what is there under this id.
   * @param old what is known of that
   * @throws {Overtaken}
   */
  write(
    id: string,
    members: readonly Uint8Array[],
    info: PayloadInfo,
    old?: PayloadInfo,
  ): Promise<void>;
  /**
   * @param old what is known of it
   * @throws {Overtaken}
   */
  remove(id: string, old: PayloadInfo): Promise<void>;
  /** Lets others use it. */
  close(): Promise<void>;
  /** Puts large payloads there from now on. */
  use?(bucket: Bucket | undefined): Promise<void>;
  /** A URL of the bytes; absent where they are not in a bucket, or not one gzip member. */
  presign?(id: string, read: PresignedRead): Promise<string | undefined>;
  /** What other replicas do with it. */
  readonly shared?: SharedIndex | undefined;
}

/** Bytes as they were read. */
export interface PayloadContent {
  /** Gzip members, to be read one after the other. */
  readonly members: readonly Uint8Array[];
  /** What is known of these very bytes, where other replicas may change them meanwhile. */
  readonly info?: PayloadInfo;
}

/** What several replicas know of the payloads of the same store. */
export interface SharedIndex {
  /** Tells the id of each that another replica changes. */
  follow(onChange: (id: string) => void): void;
  /** Looks what is there now, since a change takes a moment to be told. */
  refresh(id: string): Promise<void>;
  /** What was heard or read last. */
  info(id: string): PayloadInfo | undefined;
}

/** Another replica changed the payload meanwhile: what was to be done begins again, with what is there now. */
export class Overtaken extends Error {}

/** In memory: gone with the process. */
export class MemoryStorage implements PayloadStorage {
  readonly #members = new Map<string, readonly Uint8Array[]>();

  async load(): Promise<ReadonlyMap<string, PayloadInfo>> {
    return new Map();
  }

  async read(id: string): Promise<PayloadContent> {
    return { members: this.#members.get(id) ?? [] };
  }

  async write(id: string, members: readonly Uint8Array[]): Promise<void> {
    this.#members.set(id, members);
  }

  async remove(id: string): Promise<void> {
    this.#members.delete(id);
  }

  async close(): Promise<void> {}
}

/** A payload as a folder describes it. */
export interface FolderEntry {
  readonly id: string;
  readonly info: PayloadInfo;
}

/** In a folder: one `.gz` with the bytes and one `.json` with what is known of them, which appears last. */
export class FolderStorage implements PayloadStorage {
  readonly #folder: PayloadFolder;

  constructor(folder: string) {
    this.#folder = new PayloadFolder(folder);
  }

  async load(): Promise<ReadonlyMap<string, PayloadInfo>> {
    const names = await this.#folder.open();
    const known = new Map<string, PayloadInfo>();
    for await (const { id, info } of readEntries(this.#folder, names)) known.set(id, info);
    const wanted = new Set(
      [...known.keys()].flatMap((id) => [fileNameOf(id, "gz"), fileNameOf(id, "json")]),
    );
    // What a crash left behind: temporary files, and bytes whose description never appeared.
    for (const name of names.filter((each) => !wanted.has(each))) await this.#folder.remove(name);
    return known;
  }

  async read(id: string): Promise<PayloadContent> {
    return { members: [await this.#folder.read(fileNameOf(id, "gz"))] };
  }

  async write(id: string, members: readonly Uint8Array[], info: PayloadInfo): Promise<void> {
    await this.#folder.write(fileNameOf(id, "gz"), members);
    await this.#folder.write(fileNameOf(id, "json"), [Buffer.from(JSON.stringify({ id, info }))]);
  }

  async remove(id: string): Promise<void> {
    for (const ending of ["json", "gz"] as const) await this.#folder.remove(fileNameOf(id, ending));
  }

  close(): Promise<void> {
    return this.#folder.close();
  }
}

/** Name of a file of a payload: ids come from clients, so no id may become a path. */
export function fileNameOf(id: string, ending: "gz" | "json"): string {
  return `${digestOf(id)}.${ending}`;
}

/** The payloads that a folder describes. */
export async function* readEntries(
  folder: PayloadFolder,
  names: readonly string[],
): AsyncIterable<FolderEntry> {
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const entry = await readEntry(folder, name);
    if (entry) yield entry;
  }
}

async function readEntry(folder: PayloadFolder, name: string): Promise<FolderEntry | undefined> {
  try {
    return JSON.parse((await folder.read(name)).toString("utf8")) as FolderEntry;
  } catch {
    return undefined;
  }
}
