import type { Json } from "propylon";
import { followPointer } from "propylon/internal";

/** Where a local reference leads: `#`, or `#` and a JSON pointer. `undefined` for all others. */
export function followReference(root: Json, reference: string): unknown {
  const pointer = localPart(root, reference);
  return pointer.startsWith("#") ? followPointer(root, pointer.slice(1)) : undefined;
}

/** A reference with the root's own `$id` in front is a local one. */
function localPart(root: Json, reference: string): string {
  const id = root["$id"];
  return typeof id === "string" && id !== "" && reference.startsWith(`${id}#`)
    ? reference.slice(id.length)
    : reference;
}
