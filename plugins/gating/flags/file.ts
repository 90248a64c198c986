import { access, readFile, realpath } from "node:fs/promises";
import { basename } from "node:path";
import { GatewayError, isGatewayError } from "propylon";
import { digestOf, type FileLock, lockFile } from "propylon/kit";
import { replaceFile, sweepTemporary } from "propylon/internal";
import type { Snapshot, StateKeeper } from "./keeper.ts";
import type { FlagChange } from "../service.ts";
import { parseState, STATE_VERSION, toState, type Remembered } from "./state.ts";

/** Where nothing can be written there is nothing to lose to another gateway. */
const UNWRITABLE: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "ENOENT", "ENOTDIR"]);

/** The state file: locked and read once at the start, replaced as a whole afterwards. */
export class StateFile implements StateKeeper {
  readonly path: string;
  readonly isShared = false;
  readonly #isReadOnly: boolean;
  #lock: FileLock | undefined;
  /** Version of what is there; a later one than ours is never overwritten. */
  #version = 0;
  #digest: string | undefined;

  /** @param isReadOnly for a gateway that is only looked at: nothing is locked, swept or written */
  constructor(path: string, isReadOnly = false) {
    this.path = path;
    this.#isReadOnly = isReadOnly;
  }

  get place(): string {
    return this.path;
  }

  /** Of the content that was read. */
  get digest(): string | undefined {
    return this.#digest;
  }

  /**
   * Reads it; `undefined` when there is none. Sweeps what killed writers left behind.
   *
   * @throws {GatewayError} `exists` when another gateway uses it: each would forget what the other one confirmed; `io_error` when
   * it cannot be read or understood: what it switched off must not be on (fail closed)
   */
  async load(): Promise<Remembered | undefined> {
    if (this.#isReadOnly) return this.#read();
    await this.#acquire();
    try {
      await sweepTemporary(await this.#target());
      return await this.#read();
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  /** Whether there is one. */
  async isThere(): Promise<boolean> {
    return access(this.path).then(
      () => true,
      (error: unknown) => codeOf(error) !== "ENOENT",
    );
  }

  /** Lets another gateway use it. Safe to call more than once. */
  async release(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  async #acquire(): Promise<void> {
    try {
      this.#lock = await lockFile(await this.#target(), `The state file ${basename(this.path)}`);
    } catch (error) {
      const isUnwritable = isGatewayError(error) && UNWRITABLE.has(codeOf(error.cause));
      if (!isUnwritable) throw error;
    }
  }

  async #read(): Promise<Remembered | undefined> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw this.#unreadable(`it cannot be read (${codeOf(error)})`, error);
    }
    this.#digest = digestOf(text);
    try {
      const remembered = parseState(text);
      this.#version = remembered.version;
      return remembered;
    } catch (error) {
      const isSyntax = error instanceof SyntaxError;
      throw this.#unreadable(isSyntax ? "it is not JSON" : (error as Error).message, error);
    }
  }

  /** Whether a later version of the gateway wrote it, so that this one must leave it alone. */
  get isForeign(): boolean {
    return this.#version > STATE_VERSION;
  }

  async change(_: readonly FlagChange[], now: Snapshot): Promise<() => void> {
    await this.follow(now);
    return () => {};
  }

  follow({ flags, history, updatedAt }: Snapshot): Promise<void> {
    return this.write(`${JSON.stringify(toState(flags, history, updatedAt), null, 2)}\n`);
  }

  /**
   * Replaces it. Resolves when the new content is on the disk.
   *
   * @throws {GatewayError} `io_error`; the old content is still there
   */
  async write(text: string): Promise<void> {
    if (this.isForeign) throw this.#foreign();
    if (this.#isReadOnly) return;
    if (!this.#lock) await this.#acquire();
    // It may have been taken over while this process stood still.
    if (this.#lock && !(await this.#lock.isHeld())) throw this.#lost();
    try {
      await replaceFile(await this.#target(), text);
    } catch (cause) {
      throw new GatewayError(
        "io_error",
        `The state file ${basename(this.path)} could not be written (${codeOf(cause)}), so nothing was changed.`,
        { cause, hint: "Check that its directory is writable and the disk has space." },
      );
    }
  }

  /** A symlink stays one: its target is what is locked and replaced. */
  #target(): Promise<string> {
    return realpath(this.path).catch(() => this.path);
  }

  #lost(): GatewayError {
    return new GatewayError(
      "io_error",
      `The state file ${basename(this.path)} was taken over by another gateway, so nothing was changed.`,
      { hint: "Stop one of the two and start the other again." },
    );
  }

  #unreadable(why: string, cause: unknown): GatewayError {
    return new GatewayError(
      "io_error",
      `The state file ${basename(this.path)} cannot be used: ${why}. Starting without it would switch on what it switched off.`,
      {
        cause,
        place: { file: this.path },
        hint: "Repair it or put a copy back; delete it to start with everything switched on.",
      },
    );
  }

  #foreign(): GatewayError {
    return new GatewayError(
      "io_error",
      `The state file ${basename(this.path)} is of version ${this.#version}, and this gateway knows versions up to ${STATE_VERSION}, so nothing was changed.`,
      { hint: "Update the gateway, or set state of the gating plugin to another file." },
    );
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown";
}
