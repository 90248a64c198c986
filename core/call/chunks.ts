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

/** The first bytes of a list of chunks, at most `count`. */
export function firstBytes(chunks: readonly Buffer[], count: number): Buffer {
  const first = chunks[0] ?? Buffer.alloc(0);
  if (first.length >= count || chunks.length < 2) return first.subarray(0, count);
  const parts: Buffer[] = [];
  let missing = count;
  for (let index = 0; missing > 0 && index < chunks.length; index++) {
    parts.push(chunks[index]!.subarray(0, missing));
    missing -= parts.at(-1)!.length;
  }
  return Buffer.concat(parts);
}

/** The last bytes of a list of chunks, at most `count`, copied. */
export function lastBytes(chunks: readonly Buffer[], count: number): Buffer {
  const parts: Buffer[] = [];
  let missing = count;
  for (let index = chunks.length - 1; missing > 0 && index >= 0; index--) {
    const chunk = chunks[index]!;
    parts.unshift(chunk.subarray(Math.max(0, chunk.length - missing)));
    missing -= parts[0]!.length;
  }
  return Buffer.concat(parts);
}

/** Whether the bytes occur, also across the border of two or more chunks. */
export function includes(chunks: readonly Buffer[], bytes: Buffer): boolean {
  let tail: Buffer = Buffer.alloc(0);
  for (const chunk of chunks) {
    if (chunk.includes(bytes)) return true;
    const seam = Buffer.concat([tail, chunk.subarray(0, bytes.length - 1)]);
    if (seam.includes(bytes)) return true;
    tail =
      chunk.length >= bytes.length - 1
        ? chunk.subarray(chunk.length - bytes.length + 1)
        : seam.subarray(-(bytes.length - 1));
  }
  return false;
}

/** One replaced span of a message. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Copies nothing: slices the chunks around the replaced spans. */
export function applyEdits(chunks: readonly Buffer[], edits: readonly Edit[]): (string | Buffer)[] {
  const out: (string | Buffer)[] = [];
  let offset = 0;
  let next = 0;
  for (const chunk of chunks) {
    let from = 0;
    const end = offset + chunk.length;
    for (let edit = edits[next]; edit && edit.start < end; edit = edits[next]) {
      if (edit.start >= offset + from) {
        out.push(chunk.subarray(from, edit.start - offset), edit.text);
      }
      from = Math.min(edit.end - offset, chunk.length);
      if (edit.end > end) break;
      next++;
    }
    // A span that started in an earlier chunk may end inside this one.
    if (from < chunk.length) out.push(from === 0 ? chunk : chunk.subarray(from));
    offset = end;
  }
  return out;
}
