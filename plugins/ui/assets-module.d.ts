/** A file of the pages as it is served. */
export interface BuiltAsset {
  /** Its media type. */
  readonly type: string;
  /** Its bytes, compressed and in base64. */
  readonly br: string;
  readonly gzip: string;
}

/** The page, with `%BASE%` where the way from its address to `/ui/` goes. */
export const page: string;

/** Files below `/ui/assets/`, by their name, which holds a hash of their content. */
export const files: Readonly<Record<string, BuiltAsset>>;
