/**
 * Where a JSON pointer leads, as it stands behind the `#` of a reference: percent-encoded (RFC 6901 section 6). `undefined` when it
 * leads nowhere, or is not a pointer.
 *
 * @example const pet = followPointer(document, "/components/schemas/Pet");
 */
export function followPointer(root: unknown, pointer: string): unknown {
  if (pointer !== "" && !pointer.startsWith("/")) return undefined;
  let at = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = unescapePart(part);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** The key that a part of a pointer stands for. What is not percent-encoded properly is taken as it is. */
export function unescapePart(part: string): string {
  let decoded = part;
  try {
    decoded = decodeURIComponent(part);
  } catch {
    // Taken as it is.
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}
