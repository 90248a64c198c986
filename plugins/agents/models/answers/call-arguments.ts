import { isObject, parseExact, writeJson } from "propylon/kit";

/**
 * The arguments of a call as the text of one JSON object, where they are one in any spelling: a map, nothing at all, an empty list
 * (PHP writes an empty map so), a text that was encoded twice. Anything else stays as it is, and the model is told.
 *
 * @param pieces as they came, texts and values
 */
export function toArguments(pieces: readonly unknown[]): string {
  const text = joinPieces(pieces);
  const value = read(text);
  if (isNothing(value)) return "{}";
  if (typeof value !== "string") return text;
  const inner = read(value);
  if (isNothing(inner)) return "{}";
  return isObject(inner) ? value : text;
}

/** The pieces as one text. */
export function joinPieces(pieces: readonly unknown[]): string {
  const texts = pieces.map((piece) => (typeof piece === "string" ? piece : writeJson(piece)));
  return texts.join("");
}

/** Whether the text is all of an object. */
export function isWholeObject(text: string): boolean {
  return isObject(read(text));
}

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** The value of a JSON text; `null` of a blank one, `undefined` of one that is none. */
function read(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
