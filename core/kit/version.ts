import { createRequire } from "node:module";

/** Version of this package. Both from `core/` and from `dist/core/` its package.json is found by the package's own name. */
export const VERSION: string = (
  createRequire(import.meta.url)("propylon/package.json") as { version: string }
).version;
