/** A span of bytes that came in pieces, not copied. */
export function sliceOf(chunks: readonly Buffer[], start: number, end: number): Buffer[] {
  const parts: Buffer[] = [];
  let base = 0;
  for (const chunk of chunks) {
    if (base >= end) break;
    const part = chunk.subarray(Math.max(0, start - base), end - base);
    if (part.length > 0) parts.push(part);
    base += chunk.length;
  }
  return parts;
}

/** The same as a text of one character per byte. */
export function latin1Of(chunks: readonly Buffer[], start: number, end: number): string {
  let text = "";
  for (const part of sliceOf(chunks, start, end)) text += part.toString("latin1");
  return text;
}
