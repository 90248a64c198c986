import type { ConfigPath } from "./issue.ts";

/** One change of a config file: sets the value at a path, or removes it when `value` is `undefined`. */
export interface ConfigEdit {
  readonly path: ConfigPath;
  readonly value: unknown;
  /**
   * What must be at the path when the turn of the edit comes; otherwise it is refused with `exists` or `not_found`. Of two that
   * add the same thing at once, one is. Default: either.
   */
  readonly when?: "absent" | "present" | undefined;
}

/** A change of a config file that is worked out and not written yet. */
export interface ConfigDraft {
  /** The new content. */
  readonly text: string;
  /** SHA-256 of it, hex. */
  readonly version: string;
  /**
   * Replaces the file at once by a rename, so that no reader ever sees half of it, not even after a crash.
   * @throws {GatewayError} `exists` when the file changed since the draft was made or another process edits it, `io_error` when it cannot be written; the
   * old file is intact in both cases
   */
  readonly write: () => Promise<void>;
}
