import type { PayloadInfo } from "./service.ts";

/** A payload with its id. */
export type Listed = PayloadInfo & { readonly id: string };

/**
 * The newest of many, newest first. Nobody waits for all of them to be sorted: most are older than the last one that is taken, since
 * they are looked at from the end, where new ones stand.
 *
 * @param most how many
 */
export function newestOf(
  entries: Iterable<readonly [id: string, info: PayloadInfo]>,
  most: number,
): readonly Listed[] {
  const newest: Listed[] = [];
  for (const [id, info] of [...entries].toReversed()) {
    if (newest.length === most && info.createdAt <= newest.at(-1)!.createdAt) continue;
    const at = newest.findLastIndex(({ createdAt }) => createdAt >= info.createdAt) + 1;
    newest.splice(at, 0, { id, ...info });
    if (newest.length > most) newest.pop();
  }
  return newest;
}
