import type { UniqueNames } from "../kit/tool-name.ts";

/** What every object has: a name among these finds something where nothing was set, or sets something else. */
export const OBJECT_NAMES: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(Object.prototype),
);

/**
 * Names that cannot be those of servers: paths of the gateway's own pages, path segments that every client of HTTP
 * removes, and names that every object has.
 *
 * @example const isFree = !RESERVED_SERVERS.has(name);
 */
export const RESERVED_SERVERS: ReadonlySet<string> = new Set([
  "_meta",
  "mcp",
  "ui",
  "healthz",
  "health",
  "metrics",
  "api",
  ".well-known",
  "docs",
  "openapi.json",
  "_jobs",
  "mcp_server",
  "oauth",
  "oauth-client",
  ".",
  "..",
  ...OBJECT_NAMES,
]);

/**
 * A name that a server or an agent of a config can have: the one that another program gave it, or one close to it.
 *
 * @param taken the names that others have, this one among them
 */
export function usableName(kind: "server" | "agent", name: string, taken: UniqueNames): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 50);
  const isWrong = clean === "" || RESERVED_SERVERS.has(clean);
  const base = isWrong ? substitute(kind, clean) : clean;
  return base === name ? name : taken.take(base, "-");
}

/** A name in place of one that cannot be used. */
export function substitute(kind: string, name: string): string {
  const plain = name.replaceAll(/\W|_/g, "");
  return `${plain === "" ? "my" : plain}-${kind}`;
}
