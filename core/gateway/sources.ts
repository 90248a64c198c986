import { basename, resolve } from "node:path";
import { codeIssue, importCode, readCode, readText } from "../config/code.ts";
import { digestFiles } from "../config/file-digest.ts";
import { GatewayError } from "../kit/errors.ts";

/** The files that a plugin read beside the config: what it is made from, as much as its options. */
export class Sources {
  readonly #cwd: string;
  /** Digest over the contents of files at the time they were read, by what they were read for. */
  readonly #read = new Map<
    string,
    { readonly kind: "text" | "code"; readonly files: readonly string[]; readonly digest: string }
  >();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Absolute paths. */
  get files(): readonly string[] {
    return [...this.#read.values()].flatMap(({ files }) => files);
  }

  /** Absolute paths of what was read, without what that imports. */
  of(kind: "text" | "code"): readonly string[] {
    return [...this.#read].flatMap(([file, read]) => (read.kind === kind ? [file] : []));
  }

  /** Whether any of them holds something else by now. */
  isChanged(): boolean {
    return [...this.#read.values()].some(({ files, digest }) => digestFiles(files) !== digest);
  }

  /** See `Files.read`. */
  async read(path: string): Promise<string> {
    const file = resolve(this.#cwd, path);
    // Before it is read: what is saved meanwhile counts as a change.
    this.#note(file, "text", [file]);
    try {
      return await readText(file);
    } catch (cause) {
      throw unreadable(path, cause);
    }
  }

  /** See `Files.import`. */
  async import(path: string): Promise<Readonly<Record<string, unknown>>> {
    const file = resolve(this.#cwd, path);
    this.#note(file, "code", [file]);
    await readCode(file).catch((cause: unknown) => {
      throw unreadable(path, cause);
    });
    try {
      const { exports, files, digest } = await importCode(file);
      this.#read.set(file, { kind: "code", files: [...files], digest });
      return exports;
    } catch (cause) {
      const { message, hint } = codeIssue(cause, file, basename(file));
      throw new GatewayError("invalid", `${path}: ${message}`, { hint, cause });
    }
  }

  #note(file: string, kind: "text" | "code", files: readonly string[]): void {
    this.#read.set(file, { kind, files, digest: digestFiles(files) });
  }
}

function unreadable(path: string, cause: unknown): GatewayError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT")
    return new GatewayError("io_error", `The file ${path} does not exist.`, {
      hint: "The path is relative to the config file; check its spelling.",
      cause,
    });
  return new GatewayError(
    "io_error",
    `The file ${path} cannot be read (${code ?? "unknown error"}).`,
    {
      hint: "Check its permissions.",
      cause,
    },
  );
}
