/** Bytes that a value takes as JSON; `undefined` when JSON cannot hold it: skills are code, and make circles and bigints. */
export function jsonSize(value: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return undefined;
  }
}
