import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "propylon";
import { lockFile, type FileLock } from "propylon/kit";

/** Name of the lock in a folder, without its ending. */
const LOCK = ".payloads";

/** Files of payloads, temporary ones included; nobody else's are touched. */
const OWN_FILE = /^[0-9a-f]{64}\.(?:gz|json)(?:\.[0-9a-f-]{36}\.tmp)?$/;

/** A folder of files that appear and are replaced at once. One gateway has it at a time. */
export class PayloadFolder {
  readonly #path: string;
  #lock: FileLock | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Makes it where it is missing, and takes it.
   *
   * @returns the names of the files of payloads in it
   */
  async open(): Promise<readonly string[]> {
    await this.#guard(() => mkdir(this.#path, { recursive: true, mode: 0o700 }));
    // What another gateway is just writing would look like what a crash left behind.
    this.#lock ??= await lockFile(join(this.#path, LOCK), "The folder of the payloads");
    const names = await this.#guard(() => readdir(this.#path));
    return names.filter((name) => OWN_FILE.test(name));
  }

  read(name: string): Promise<Buffer> {
    return this.#guard(() => readFile(join(this.#path, name)));
  }

  /** By a rename, so that no reader and no crash ever meets half of it. */
  async write(name: string, pieces: readonly Uint8Array[]): Promise<void> {
    const temporary = join(this.#path, `${name}.${randomUUID()}.tmp`);
    await this.#guard(async () => {
      try {
        const file = await open(temporary, "wx", 0o600);
        try {
          for (const piece of pieces) await file.writeFile(piece);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, join(this.#path, name));
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    });
  }

  remove(name: string): Promise<void> {
    return this.#guard(() => rm(join(this.#path, name), { force: true }));
  }

  /** Lets others use it. */
  async close(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
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
