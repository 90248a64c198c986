import { isObject } from "propylon/kit";

/** What a message says, by what it is. */
export interface Content {
  readonly text: string;
  readonly thought: string;
  readonly refusal: string;
}

/** Where texts stand in texts that are maps. */
const KEYS = ["text", "content", "thinking", "summary", "refusal"];

/** How deep a text is looked for: the provider decides how deep it nests. */
const MAX_DEPTH = 6;

/** Reads `content`, a text or a list of parts. */
export function readContent(content: unknown): Content {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const of = (kind: keyof Content): string => textIn(parts.filter((part) => kindOf(part) === kind));
  return { text: of("text"), thought: of("thought"), refusal: of("refusal") };
}

/** The text of a value that is one, a list of them, or a map around one; else `""`. */
export function textIn(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth === MAX_DEPTH) return "";
  if (Array.isArray(value)) return value.map((each) => textIn(each, depth + 1)).join("");
  if (!isObject(value)) return "";
  return KEYS.map((key) => textIn(value[key], depth + 1)).find((text) => text !== "") ?? "";
}

function kindOf(part: unknown): keyof Content {
  const type = isObject(part) ? part["type"] : undefined;
  if (type === "refusal") return "refusal";
  return type === "thinking" || type === "reasoning" ? "thought" : "text";
}
