/** A file to write. */
export interface ProjectFile {
  /** Relative to the directory, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}
