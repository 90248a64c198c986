import type { UniqueNames } from "../kit/tool-name.ts";
import type { ConfigPath, PathIssue } from "./issue.ts";

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

/** Maps by names that people give, and what such a name is called. */
const NAMED = {
  servers: "server",
  mcpServers: "server",
  endpoints: "endpoint",
  listeners: "listener",
} as const;

/** Whether a value is an object literal, i.e. neither an array nor an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Names in a config, as it was written, that cannot be used. */
export function checkNames(config: unknown): PathIssue[] {
  if (!isPlainObject(config)) return [];
  const wrong = Object.entries(NAMED).flatMap(([block, kind]) =>
    namesOf(config, block)
      .filter((name) => (kind === "server" ? RESERVED_SERVERS : OBJECT_NAMES).has(name))
      .map((name) => reserved(kind, block, name)),
  );
  return [...wrong, ...prototypes(config, [])];
}

function namesOf(config: Readonly<Record<string, unknown>>, block: string): string[] {
  const named = Object.hasOwn(config, block) ? config[block] : undefined;
  return isPlainObject(named) ? Object.keys(named) : [];
}

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

function substitute(kind: string, name: string): string {
  const plain = name.replaceAll(/\W|_/g, "");
  return `${plain === "" ? "my" : plain}-${kind}`;
}

function reserved(kind: string, block: string, name: string): PathIssue {
  const isPath = /[a-z]/i.test(name) && !OBJECT_NAMES.has(name);
  return {
    path: [block, name],
    at: "key",
    message: isPath
      ? `The ${kind} name "${name}" is reserved for a path of the gateway.`
      : `"${name}" cannot be the name of ${/^[ae]/.test(kind) ? "an" : "a"} ${kind}.`,
    hint: `Choose another name, e.g. "${substitute(kind, name)}".`,
  };
}

/** The key `__proto__`, wherever else it stands: most code would set a prototype with it. */
function prototypes(value: unknown, path: ConfigPath): PathIssue[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => prototypes(item, [...path, at]));
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const at = [...path, key];
    const isKnown = path.length === 1 && Object.hasOwn(NAMED, String(path[0]));
    if (key !== "__proto__" || isKnown) return prototypes(item, at);
    const message = "The key __proto__ cannot be used.";
    return [{ path: at, at: "key" as const, message, hint: "Choose another name." }];
  });
}
