import type { ToolReturn } from "../plugin/definitions.ts";
import { mapExact } from "../kit/exact-number.ts";
import { writeJson } from "../kit/exact-json.ts";
import type { Json } from "../kit/types.ts";

/**
 * The result of a tool, of what it returned: text, a full result, or data. A list is text alone: `structuredContent` must be an
 * object (MCP 2025-11-25, server/tools), and the official clients refuse a result where it is not.
 *
 * A bigint is a number of the result like any other.
 *
 * @throws {TypeError} for what is none of these
 *
 * @example const { content } = toResult({ found: 3 }); // its JSON as text, and structuredContent
 */
export function toResult(returned: ToolReturn): Json {
  return resultOf(mapExact(returned, (number) => number) as ToolReturn);
}

function resultOf(returned: ToolReturn): Json {
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (isList(returned)) return { content: [{ type: "text", text: writeJson(returned) }] };
  if (typeof returned !== "object" || returned === null) {
    throw new TypeError(
      `a tool must return a string, an object or a list, not ${returned === null ? "null" : typeof returned}`,
    );
  }
  if (Array.isArray(returned["content"]) || typeof returned["resultType"] === "string")
    return returned;
  return {
    content: [{ type: "text", text: writeJson(returned) }],
    structuredContent: returned,
  };
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(returned: ToolReturn): returned is readonly unknown[] {
  return Array.isArray(returned);
}
