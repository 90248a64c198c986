import { isObject, isWithinDepth, parseBounded } from "propylon/kit";

/** Arguments of a call that was cut off before them, or that hold too much. Nothing would be a call without arguments. */
export const CUT_OFF = "{";

/** Most characters of arguments that are read; an answer of more is refused. */
const MAX_READ = 2_000_000;

/** How deep arguments may nest. */
const MAX_DEPTH = 100;

/** What takes long to read is larger, in characters; what is no JSON goes to the model as it is below that. */
const SMALL = 64 * 1_024;

/**
 * The arguments of a call as the text of one JSON object, where they are one in any spelling: a map, nothing at all, an empty list
 * (PHP writes an empty map so), a text that was encoded twice. Anything else stays as it is, and the model is told.
 *
 * @param text as it came
 */
export function toArguments(text: string): string {
  if (text.length > MAX_READ) return text;
  const value = read(text);
  if (isNothing(value)) return "{}";
  // The package would try to read it once more.
  if (value === undefined && text.length > SMALL) return CUT_OFF;
  if (typeof value !== "string") return text;
  const inner = read(value);
  if (isNothing(inner)) return "{}";
  return isObject(inner) ? value : text;
}

/** Whether the text is all of an object. */
export function isWholeObject(text: string): boolean {
  return text.length <= MAX_READ && isObject(read(text));
}

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** The value of a JSON text; `null` of a blank one, `undefined` of one that is none, or too dear to read. */
function read(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    const bytes = Buffer.from(text);
    return isWithinDepth(bytes, MAX_DEPTH) ? parseBounded(bytes) : undefined;
  } catch {
    return undefined;
  }
}
