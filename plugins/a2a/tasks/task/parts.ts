import type { Answer, Json } from "propylon";
import { writeJson } from "propylon/kit";
import { fromContent } from "propylon/internal";
import type { Part } from "propylon/contract";

/** The content of a tool's result as parts; its structured content as data. */
export function resultParts(result: Json): readonly Part[] {
  const content = Array.isArray(result["content"]) ? (result["content"] as Json[]) : [];
  const structured = result["structuredContent"];
  if (structured === undefined) return content.map(fromContent);
  // By the specification the same JSON stands in a text, for those who read no structured content.
  const json = writeJson(structured);
  const others = content.filter(({ type, text }) => type !== "text" || text !== json);
  return [{ data: structured, mediaType: "application/json" }, ...others.map(fromContent)];
}

/** What a failed tool said. */
export function failedWordsOf({ result = {} }: Answer): string {
  const words = resultParts({ content: result["content"] }).flatMap(({ text }) => text ?? []);
  return words.join("\n");
}
