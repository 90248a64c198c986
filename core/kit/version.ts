import { createRequire } from "node:module";

// Both from core/ and from dist/core/ the package.json is found by the package's own name.
/**
 * Version of this package.
 *
 * @example const agent = `propylon/${VERSION}`;
 */
export const VERSION: string = (
  createRequire(import.meta.url)("propylon/package.json") as { version: string }
).version;
