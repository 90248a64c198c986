/** Text as it was and as it came out of a formatter, before and after an edit. */
export interface Rewriting {
  /** As a person wrote it. */
  readonly original: string;
  /** The same, formatted. */
  readonly before: string;
  /** The edited text, formatted. */
  readonly after: string;
}

/** Pieces that a text is cut into, finest first: characters, or lines where those lead nowhere. */
const UNITS: readonly (string | RegExp)[] = ["", /(?<=\n)/];

/**
 * Carries an edit over to the original, so that what it does not concern keeps its layout: what differs between the formatted
 * texts is cut out of the original and replaced. A formatter only moves white space, so a place is known by the characters
 * before it.
 *
 * @returns the possible results, best first; they may be wrong where the formatter did more
 */
export function carryEdit(rewriting: Rewriting): readonly string[] {
  // What is only removed is whole lines in most texts; by characters the indentation of what follows would go with it.
  const units = isRemoval(rewriting) ? UNITS.toReversed() : UNITS;
  return units.map((unit) => carryIn(unit, rewriting)).filter((text) => text !== undefined);
}

/** Whether all lines of the new text were in the old one. */
function isRemoval({ before, after }: Rewriting): boolean {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const head = sharedPieces(old, now, 0);
  return head + sharedPieces(old.toReversed(), now.toReversed(), head) === now.length;
}

function carryIn(
  unit: string | RegExp,
  { original, before, after }: Rewriting,
): string | undefined {
  const [pieces, old, now] = [original, before, after].map((text) => text.split(unit)) as [
    string[],
    string[],
    string[],
  ];
  const head = sharedPieces(old, now, 0);
  const tail = sharedPieces(old.toReversed(), now.toReversed(), head);
  const [from, to] = [old.slice(0, head), old.slice(0, old.length - tail)];
  // White space that the formatter does not have stays with what comes after it.
  const [start, end] = [from, to].map((said) =>
    placesOf(pieces, said).at(isBlank(said.at(-1)) ? -1 : 0),
  );
  if (start === undefined || end === undefined) return undefined;
  const fresh = now.slice(head, now.length - tail);
  return [...pieces.slice(0, start), ...fresh, ...pieces.slice(Math.max(start, end))].join("");
}

/** How many pieces two texts begin with in common, of those that the first `taken` of the shorter leave. */
function sharedPieces(left: readonly string[], right: readonly string[], taken: number): number {
  const most = Math.min(left.length, right.length) - taken;
  let count = 0;
  while (count < most && left[count] === right[count]) count++;
  return count;
}

/** After how many pieces the same was said, white space aside. */
function placesOf(pieces: readonly string[], said: readonly string[]): readonly number[] {
  const wanted = denseText(said);
  const places: number[] = [];
  let dense = "";
  for (let count = 0; count <= pieces.length && dense.length <= wanted.length; count++) {
    if (dense === wanted) places.push(count);
    dense += denseText(pieces.slice(count, count + 1));
  }
  return places;
}

function denseText(pieces: readonly string[]): string {
  return pieces.join("").replaceAll(/\s/g, "");
}

function isBlank(piece: string | undefined): boolean {
  return piece?.trim() === "";
}
