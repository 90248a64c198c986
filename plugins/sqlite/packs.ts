/** What one row of a log holds at most: so many entries, and so much of their text, in UTF-16 units, unless one entry alone is longer. */
const MAX_ENTRIES = 100;
const MAX_TEXT = 65_536;

/** Entries of a log that stand in one row: a row of its own for each would cost three times as much, and as much again to drop. */
export interface Pack {
  readonly count: number;
  /** The entry; of several their lengths, a colon, and all of them without anything between. */
  readonly text: string;
}

/** Puts entries together, in their order. */
export function packEntries(values: readonly string[]): Pack[] {
  const packs: Pack[] = [];
  for (let from = 0; from < values.length;) {
    const entries = values.slice(from, endOfPack(values, from));
    packs.push({ count: entries.length, text: joinEntries(entries) });
    from += entries.length;
  }
  return packs;
}

/** The entries of a row. */
export function unpackEntries({ count, text }: Pack): string[] {
  if (count === 1) return [text];
  const colon = text.indexOf(":");
  let at = colon + 1;
  return text
    .slice(0, colon)
    .split(",")
    .map((length) => text.slice(at, (at += Number(length))));
}

function endOfPack(values: readonly string[], from: number): number {
  let end = from;
  for (let size = 0; end < values.length && end - from < MAX_ENTRIES; end++) {
    size += values[end]!.length;
    if (size > MAX_TEXT && end > from) break;
  }
  return end;
}

function joinEntries(entries: readonly string[]): string {
  if (entries.length === 1) return entries[0]!;
  return `${entries.map(({ length }) => length).join(",")}:${entries.join("")}`;
}
