import type { Answer, Json } from "propylon";
import type { Part } from "propylon/contract";

/** The content of a tool's result as parts; its structured content as data. */
export function resultParts(result: Json): readonly Part[] {
  const content = Array.isArray(result["content"]) ? (result["content"] as Json[]) : [];
  const structured = result["structuredContent"];
  if (structured === undefined) return content.map(toPart);
  // By the specification the same JSON stands in a text, for those who read no structured content.
  const json = JSON.stringify(structured);
  const others = content.filter(({ type, text }) => type !== "text" || text !== json);
  return [{ data: structured, mediaType: "application/json" }, ...others.map(toPart)];
}

/** What a failed tool said. */
export function failedWordsOf({ result = {} }: Answer): string {
  const words = resultParts({ content: result["content"] }).flatMap(({ text }) => text ?? []);
  return words.join("\n");
}

function toPart(block: Json): Part {
  const { type, text, data, mimeType, uri, name } = block;
  const mediaType = typeof mimeType === "string" ? { mediaType: mimeType } : {};
  if (type === "text") return { text: String(text) };
  if (type === "image" || type === "audio") return { raw: String(data), ...mediaType };
  if (type === "resource_link")
    return {
      url: String(uri),
      ...mediaType,
      ...(typeof name === "string" && { filename: name }),
    };
  return type === "resource" ? toFile(block["resource"] as Json) : { data: block };
}

function toFile({ text, blob, mimeType, uri }: Json): Part {
  return {
    ...(typeof text === "string" ? { text } : { raw: typeof blob === "string" ? blob : "" }),
    ...(typeof mimeType === "string" && { mediaType: mimeType }),
    metadata: { uri },
  };
}

/** Parts as the content of a tool's result, for those who call a skill as a tool. */
export function contentOf(parts: readonly Part[]): Json[] {
  return parts.map(({ text, raw, url, data, mediaType = "application/octet-stream", filename }) => {
    if (text !== undefined) return { type: "text", text };
    if (url !== undefined)
      return { type: "resource_link", uri: url, name: filename ?? url, mimeType: mediaType };
    if (raw === undefined) return { type: "text", text: JSON.stringify(data) };
    if (mediaType.startsWith("image/")) return { type: "image", data: raw, mimeType: mediaType };
    const uri = `artifact:${encodeURIComponent(filename ?? "file")}`;
    return { type: "resource", resource: { uri, mimeType: mediaType, blob: raw } };
  });
}
