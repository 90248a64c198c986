/** Where in a value something is put: the keys that lead there. */
type Path = readonly (string | number)[];

/** A body that somebody hostile could send. */
export interface Shaped {
  /** What it is, and where it stands in the sample. */
  readonly name: string;
  /** Makes it in about so many bytes. */
  make(bytes: number): Buffer;
}

/** What a hostile sender writes in the place of a value: each fills so many bytes. */
const FILLERS: Readonly<Record<string, (bytes: number) => string>> = {
  "numbers in a list": (bytes) => listOf("1", bytes),
  "lists in a list": (bytes) => listOf("[]", bytes),
  "maps in a list": (bytes) => listOf("{}", bytes),
  "inexact numbers in a list": (bytes) => listOf("9007199254740993", bytes),
  "texts in a list": (bytes) => listOf('"ab"', bytes),
  "keys of a map": (bytes) => mapOf("1", bytes),
  "maps in a map": (bytes) => mapOf("{}", bytes),
  "maps of their own keys in a list": (bytes) => ownKeys(bytes),
  "texts of their own in a list": (bytes) => ownTexts(bytes),
  "one key many times": (bytes) => `{${fill('"a":1', ",", bytes)}}`,
  "lists in lists": (bytes) => nest("[", "]", bytes),
  "maps in maps": (bytes) => nest('{"a":', "}", bytes, "1"),
  "a long text": (bytes) => `"${"a".repeat(bytes)}"`,
  "a text of escapes": (bytes) => `"${"\\u0001".repeat(bytes / 6)}"`,
  "a text of lines": (bytes) => `"${"\\n".repeat(bytes / 2)}"`,
  "a long key": (bytes) => `{"${"a".repeat(bytes)}":1}`,
  "a long number": (bytes) => "1".repeat(bytes),
  "empty space": (bytes) => `1${" ".repeat(bytes)}`,
};

/** Every filler at every place of a sample, and the sample's own lists and maps with copies of what they hold. */
export function shapesOf(sample: unknown): readonly Shaped[] {
  return pathsOf(sample).flatMap((path) => [
    ...Object.entries(FILLERS).map(([name, filler]) => shapeAt(sample, path, name, filler)),
    ...copiesAt(sample, path),
  ]);
}

function shapeAt(
  sample: unknown,
  path: Path,
  name: string,
  filler: (bytes: number) => string,
): Shaped {
  const place = path.length === 0 ? "the body" : path.join(".");
  return {
    name: `${name} at ${place}`,
    make(bytes) {
      const [before = "", after = ""] = JSON.stringify(put(sample, path, HOLE)).split(`"${HOLE}"`);
      return Buffer.from(before + filler(bytes) + after);
    },
  };
}

const HOLE = "the hole of the filler";

/** Lists and maps whose items are right, each by itself. */
function copiesAt(sample: unknown, path: Path): readonly Shaped[] {
  const value = get(sample, path);
  if (typeof value !== "object" || value === null) return [];
  const [item] = Object.values(value);
  if (item === undefined) return [];
  const text = JSON.stringify(item);
  const filler = (bytes: number): string =>
    Array.isArray(value) ? listOf(text, bytes) : mapOf(text, bytes);
  return [shapeAt(sample, path, "right items", filler)];
}

function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, index) => [index, item] as const)
    : Object.entries(value);
  return [path, ...entries.flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function get(value: unknown, path: Path): unknown {
  return path.reduce((inner, key) => (inner as Record<string | number, unknown>)[key], value);
}

function put(value: unknown, [key, ...rest]: Path, it: unknown): unknown {
  if (key === undefined) return it;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  const members = copy as Record<string | number, unknown>;
  members[key] = put(members[key], rest, it);
  return copy;
}

function listOf(item: string, bytes: number): string {
  return `[${fill(item, ",", bytes)}]`;
}

function mapOf(item: string, bytes: number): string {
  return `{${numbered(bytes, (count) => `"k${count}":${item}`)}}`;
}

function numbered(bytes: number, make: (count: number) => string): string {
  const pieces: string[] = [];
  for (let length = 0; length < bytes;) {
    const piece = make(pieces.length);
    pieces.push(piece);
    length += piece.length + 1;
  }
  return pieces.join(",");
}

function ownKeys(bytes: number): string {
  return `[${numbered(bytes, (count) => `{"k${count}":1}`)}]`;
}

function ownTexts(bytes: number): string {
  return `[${numbered(bytes, (count) => `"t${count}"`)}]`;
}

function nest(open: string, close: string, bytes: number, inner = ""): string {
  const depth = Math.floor(bytes / (open.length + close.length));
  return open.repeat(depth) + inner + close.repeat(depth);
}

function fill(item: string, between: string, bytes: number): string {
  const count = Math.max(1, Math.floor(bytes / (item.length + between.length)));
  return `${`${item}${between}`.repeat(count - 1)}${item}`;
}
