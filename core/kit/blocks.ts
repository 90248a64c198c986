import type { Json } from "./types.ts";
import { writeJson } from "./exact-json.ts";
import { isObject, scalarText } from "./json.ts";

/**
 * One piece of what agents say to each other (A2A 1.0, `Part`), told apart by the member it has.
 *
 * @example const part: ContentPart = { raw: bytes.toString("base64"), mediaType: "image/png", filename: "chart.png" };
 */
export interface ContentPart {
  readonly text?: string | undefined;
  /** Any JSON. */
  readonly data?: unknown;
  /** Base64. */
  readonly raw?: string | undefined;
  readonly url?: string | undefined;
  readonly mediaType?: string | undefined;
  readonly filename?: string | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  readonly [key: string]: unknown;
}

/**
 * A part as a content block of a tool's result (MCP, tools, content types): a text, an image, a sound, a link, or a resource for any
 * other file. Data become their JSON.
 *
 * @example const content = task.artifacts.flatMap(({ parts }) => parts.map(toContent));
 */
export function toContent({ text, data, raw, url, mediaType, filename }: ContentPart): Json {
  if (text !== undefined) return { type: "text", text };
  if (raw !== undefined) {
    const uri = `a2a:${encodeURIComponent(filename || "file")}`;
    return blobContent(raw, mediaType || "application/octet-stream", uri);
  }
  if (url === undefined) return { type: "text", text: writeJson(data ?? null) };
  return {
    type: "resource_link",
    uri: url,
    name: filename || lastSegment(url),
    ...(mediaType && { mimeType: mediaType }),
  };
}

function lastSegment(url: string): string {
  return url.split(/[?#]/, 1)[0]!.split("/").at(-1) || url;
}

/**
 * A content block as a part; the other way round of {@link toContent}. A kind of block that a later revision of MCP brings is data.
 *
 * @example const parts = content.map(fromContent);
 */
export function fromContent(block: Json): ContentPart {
  const { type, text, data, mimeType, uri, name } = block;
  const mediaType = typeof mimeType === "string" ? { mediaType: mimeType } : {};
  if (type === "text") return { text: scalarText(text) };
  if (type === "image" || type === "audio") return { raw: scalarText(data), ...mediaType };
  if (type === "resource_link")
    return {
      url: scalarText(uri),
      ...mediaType,
      ...(typeof name === "string" && { filename: name }),
    };
  const { resource } = block;
  return type === "resource" && isObject(resource) ? fromResource(resource) : { data: block };
}

function fromResource({ text, blob, mimeType, uri }: Json): ContentPart {
  return {
    ...(typeof text === "string" ? { text } : { raw: typeof blob === "string" ? blob : "" }),
    ...(typeof mimeType === "string" && { mediaType: mimeType }),
    metadata: { uri },
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
