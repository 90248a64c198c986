import { isObject, writeJson } from "propylon/kit";
import { MAX_CHARACTERS, readPiece } from "./piece.ts";

/** Arguments of a call that was cut off before them, or that hold too much. Nothing would be a call without arguments. */
export const CUT_OFF = "{";

/** Arguments that take long to read are longer, in characters; shorter ones that are not valid JSON go to the model as they are. */
const SMALL = 64 * 1_024;

/**
 * The arguments of a call as the text of one JSON object, where they are one in any spelling: a map, nothing at all, an empty list
 * (PHP writes an empty map so), a text that was encoded twice. Anything else stays as it is, and the model is told.
 *
 * @param text as it came
 */
export function toArguments(text: string): string {
  // An answer of more is refused.
  if (text.length > MAX_CHARACTERS) return text;
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
  return text.length <= MAX_CHARACTERS && isObject(read(text));
}

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** The value of a JSON text, as {@link readPiece} tells it; `null` of a blank one. */
function read(text: string): unknown {
  return text.trim() === "" ? null : readPiece(Buffer.from(text));
}

/** A piece of arguments as text: providers send texts, values, or nothing. */
export function textOfPiece(piece: unknown): string {
  if (piece === null || piece === undefined) return "";
  return typeof piece === "string" ? piece : writeJson(piece);
}
