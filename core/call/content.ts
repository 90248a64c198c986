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

/**
 * Bytes as a content block of a result: an image, a sound, or a resource of any other media type (MCP, tools, content types).
 *
 * @param data base64
 * @param mimeType without parameters
 * @param uri names it where it becomes a resource
 *
 * @example const content = blobContent(bytes.toString("base64"), "image/png", "chart://today");
 */
export function blobContent(data: string, mimeType: string, uri: string): Json {
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}
