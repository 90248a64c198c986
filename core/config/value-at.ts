import type { ConfigPath } from "./issue.ts";

/** The value at a path, if there is one. */
export function valueAt(value: unknown, path: ConfigPath): unknown {
  let node = value;
  for (const part of path) {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, part)) return undefined;
    node = (node as Record<string | number, unknown>)[part];
  }
  return node;
}

/**
 * A copy with another value at a path, or without what is there for `undefined`. What is not on the way is shared; a name such as
 * `__proto__` is a name like others.
 */
export function withValue(owner: unknown, path: ConfigPath, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const old = valueAt(owner, [key]);
  if (value === undefined && old === undefined) return owner;
  const item = withValue(old, rest, value);
  if (Array.isArray(owner) || (owner === undefined && typeof key === "number")) {
    const items = Array.isArray(owner) ? [...(owner as unknown[])] : [];
    items.splice(Number(key), 1, ...(item === undefined ? [] : [item]));
    return items;
  }
  const others = Object.entries(owner ?? {}).filter(([each]) => each !== String(key));
  return Object.fromEntries(item === undefined ? others : [...others, [String(key), item]]);
}
