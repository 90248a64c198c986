/** Earlier servers lose whole streams in a crash (Jepsen on 2.10.20 to 2.10.22). */
export const FLOOR = "2.10.23";

/** Whether a server is below the floor. */
export function isOlder(version: string): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [index, least] of FLOOR.split(".").map(Number).entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}
