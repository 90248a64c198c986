import type { Json } from "propylon";

/** Where a local reference leads: `#`, or `#` and a JSON pointer (RFC 6901 section 6). `undefined` for all others. */
export function followPointer(root: Json, reference: string): unknown {
  const pointer = localPart(root, reference);
  if (pointer === "#") return root;
  if (!pointer.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const segment of pointer.slice(2).split("/")) {
    const key = unescape(segment);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Json)[key];
  }
  return at;
}

/** A reference with the root's own `$id` in front is a local one. */
function localPart(root: Json, reference: string): string {
  const id = root["$id"];
  return typeof id === "string" && id !== "" && reference.startsWith(`${id}#`)
    ? reference.slice(id.length)
    : reference;
}

function unescape(segment: string): string {
  const plain = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
