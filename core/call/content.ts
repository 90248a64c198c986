import type { ToolReturn } from "../plugin/definitions.ts";
import type { Json } from "./types.ts";

/**
 * The result of a tool, of what it returned: text, a full result, or data.
 *
 * @throws {TypeError} for what is none of these
 *
 * @example const { content } = toResult({ found: 3 }); // its JSON as text, and structuredContent
 */
export function toResult(returned: ToolReturn): Json {
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (typeof returned !== "object" || returned === null) {
    throw new TypeError(
      `a tool must return a string or an object, not ${returned === null ? "null" : typeof returned}`,
    );
  }
  if (Array.isArray(returned["content"]) || typeof returned["resultType"] === "string")
    return returned;
  return {
    content: [{ type: "text", text: JSON.stringify(returned) }],
    structuredContent: returned,
  };
}
