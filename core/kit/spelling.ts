/**
 * Damerau-Levenshtein distance (optimal string alignment): single insertions, deletions, replacements and swaps of neighbours.
 */
export function distance(left: string, right: string): number {
  let before: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1] ? 0 : 1;
      let best = Math.min(above[column]! + 1, current[column - 1]! + 1, above[column - 1]! + same);
      const swapped =
        row > 1 &&
        column > 1 &&
        left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1];
      if (swapped) best = Math.min(best, before[column - 2]! + 1);
      current.push(best);
    }
    before = above;
    above = current;
  }
  return above[right.length]!;
}

/** The candidate that was probably meant by a mistyped word, case and `-_` aside; `undefined` when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_\s]/g, "");
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    const found = distance(plain(word), plain(candidate));
    if (found < bestDistance) [best, bestDistance] = [candidate, found];
  }
  return best;
}

/** The next step for a name that does not exist. */
export function choose(name: string, known: readonly string[]): string {
  const similar = nearest(name, known);
  if (similar !== undefined) return `Did you mean "${similar}"?`;
  return known.length === 0 ? "There are none yet; add it." : `There are: ${known.join(", ")}.`;
}
