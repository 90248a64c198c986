import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "propylon";
import { lockFile, type FileLock } from "propylon/kit";
import type { PayloadInfo } from "./service.ts";

/** Where compressed bytes lie. */
export interface PayloadStorage {
  /** What lies there already. */
  load(): Promise<ReadonlyMap<string, PayloadInfo>>;
  /** Gzip members, to be read one after the other. */
  read(id: string): Promise<readonly Uint8Array[]>;
  /** Replaces what is there under this id. */
  write(id: string, members: readonly Uint8Array[], info: PayloadInfo): Promise<void>;
  remove(id: string): Promise<void>;
  /** Lets others use it. */
  close(): Promise<void>;
}

/** In memory: gone with the process. */
export class MemoryStorage implements PayloadStorage {
  readonly #members = new Map<string, readonly Uint8Array[]>();

  async load(): Promise<ReadonlyMap<string, PayloadInfo>> {
    return new Map();
  }

  async read(id: string): Promise<readonly Uint8Array[]> {
    return this.#members.get(id) ?? [];
  }

  async write(id: string, members: readonly Uint8Array[]): Promise<void> {
    this.#members.set(id, members);
  }

  async remove(id: string): Promise<void> {
    this.#members.delete(id);
  }

  async close(): Promise<void> {}
}

/** Name of the lock in a folder, without its ending. */
const LOCK = ".payloads";

/** In a folder: one `.gz` with the bytes and one `.json` with what is known of them, which appears last. */
export class FolderStorage implements PayloadStorage {
  readonly #folder: string;
  #lock: FileLock | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async load(): Promise<ReadonlyMap<string, PayloadInfo>> {
    await this.#guard(() => mkdir(this.#folder, { recursive: true, mode: 0o700 }));
    // What another gateway is just writing would look like what a crash left behind.
    this.#lock ??= await lockFile(join(this.#folder, LOCK), "The folder of the payloads");
    const names = await this.#guard(() => readdir(this.#folder));
    const known = new Map<string, PayloadInfo>();
    for (const name of names.filter((each) => each.endsWith(".json"))) {
      const entry = await readEntry(join(this.#folder, name));
      if (entry) known.set(entry.id, entry.info);
    }
    const wanted = new Set(
      [...known.keys()].flatMap((id) => [nameOf(id, "gz"), nameOf(id, "json")]),
    );
    // What a crash left behind: temporary files, and bytes whose description never appeared.
    for (const name of names.filter((each) => OWN_FILE.test(each) && !wanted.has(each)))
      await rm(join(this.#folder, name), { force: true });
    return known;
  }

  async read(id: string): Promise<readonly Uint8Array[]> {
    return [await this.#guard(() => readFile(join(this.#folder, nameOf(id, "gz"))))];
  }

  async write(id: string, members: readonly Uint8Array[], info: PayloadInfo): Promise<void> {
    await this.#replace(nameOf(id, "gz"), members);
    await this.#replace(nameOf(id, "json"), [Buffer.from(JSON.stringify({ id, info }))]);
  }

  async remove(id: string): Promise<void> {
    for (const ending of ["json", "gz"])
      await this.#guard(() => rm(join(this.#folder, nameOf(id, ending)), { force: true }));
  }

  async close(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  /** By a rename, so that no reader and no crash ever meets half of it. */
  async #replace(name: string, pieces: readonly Uint8Array[]): Promise<void> {
    const temporary = join(this.#folder, `${name}.${randomUUID()}.tmp`);
    await this.#guard(async () => {
      try {
        const file = await open(temporary, "wx", 0o600);
        try {
          for (const piece of pieces) await file.writeFile(piece);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, join(this.#folder, name));
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    });
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
      throw new GatewayError("io_error", `The folder of the payloads cannot be used (${code}).`, {
        hint: "Check plugins.payloads.store: its permissions and the room on its disk.",
        cause,
      });
    }
  }
}

/** Files this storage writes, temporary ones included; nobody else's are touched. */
const OWN_FILE = /^[0-9a-f]{64}\.(?:gz|json)(?:\.[0-9a-f-]{36}\.tmp)?$/;

/** Ids come from clients, so no id may become a path. */
function nameOf(id: string, ending: string): string {
  return `${createHash("sha256").update(id).digest("hex")}.${ending}`;
}

async function readEntry(
  file: string,
): Promise<{ readonly id: string; readonly info: PayloadInfo } | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as { id: string; info: PayloadInfo };
  } catch {
    return undefined;
  }
}
