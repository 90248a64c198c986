import type { Json } from "propylon";
import { type ExactNumber, parseExact, parseJson } from "propylon/kit";
import { isNumber, unwrapResult } from "propylon/internal";

/** Nesting beyond which JSON in a text stays text. */
const MAX_DEPTH = 64;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** One piece of a tool's output, tagged with what it is. */
export type OutputItem =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "scalar"; readonly value: number | ExactNumber | boolean }
  | { readonly type: "list"; readonly value: readonly unknown[] }
  | { readonly type: "object"; readonly value: Json }
  | { readonly type: "null"; readonly value: null }
  | { readonly type: "image" | "audio"; readonly mimeType: string; readonly data: string }
  | { readonly type: "resource"; readonly resource: Json }
  | { readonly type: "resource_link"; readonly uri: string; readonly [key: string]: unknown };

/**
 * The output of a tool, piece by piece. `structuredContent` comes first and alone stands for the text blocks, which repeat it
 * for clients that do not know it (MCP 2025-06-18, server/tools).
 */
export function outputItems(result: Json): OutputItem[] {
  const blocks = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  const structured = result["structuredContent"];
  const wrapped = unwrapResult(result);
  if (wrapped?.["result"] !== undefined) return [classify(wrapped["result"])];
  if (structured === undefined || wrapped !== undefined)
    return blocks.flatMap((block) => toItem(block));
  const others = blocks.filter((block) => !isText(block));
  return [classify(structured), ...others.flatMap((block) => toItem(block))];
}

/**
 * The plain value of an output, as mcpo returns it: the value of the only piece, or a list of all. Images and audio are data
 * URIs, an embedded text resource is its text.
 */
export function plainValue(items: readonly OutputItem[]): unknown {
  if (items.length === 0) return null;
  return items.length === 1 ? bare(items[0]!) : items.map(bare);
}

function bare(item: OutputItem): unknown {
  switch (item.type) {
    case "image":
    case "audio":
      return `data:${item.mimeType};base64,${item.data}`;
    case "resource":
      return typeof item.resource["text"] === "string" ? item.resource["text"] : item.resource;
    case "resource_link":
      return item;
    default:
      return item.value;
  }
}

function isText(block: unknown): boolean {
  return (block as Json | null)?.["type"] === "text";
}

function toItem(block: unknown): OutputItem[] {
  if (typeof block !== "object" || block === null) return [];
  const { type, text, data, mimeType, resource } = block as Json;
  if (type === "text") return [classifyText(typeof text === "string" ? text : "")];
  if (type === "image" || type === "audio")
    return [
      {
        type,
        mimeType: typeof mimeType === "string" ? mimeType : "application/octet-stream",
        data: typeof data === "string" ? data : "",
      },
    ];
  if (type === "resource") return [{ type, resource: (resource ?? {}) as Json }];
  if (type === "resource_link") return [block as OutputItem];
  // A kind of block that a later revision brings.
  return [{ type: "object", value: block as Json }];
}

/** Tags a JSON value. */
function classify(value: unknown): OutputItem {
  if (value === null) return { type: "null", value };
  if (Array.isArray(value)) return { type: "list", value };
  if (isNumber(value) || typeof value === "boolean") return { type: "scalar", value };
  if (typeof value === "object") return { type: "object", value: value as Json };
  return { type: "text", value: value as string };
}

/** JSON in a text block is read, since most servers have no other way to return data. */
function classifyText(text: string): OutputItem {
  const trimmed = text.trim();
  if (SCALAR.test(trimmed)) return classifyScalar(text, trimmed);
  const first = trimmed[0];
  const last = trimmed.at(-1);
  const isJson =
    (first === "{" && last === "}") ||
    (first === "[" && last === "]") ||
    (first === '"' && last === '"' && trimmed.length > 1);
  if (!isJson) return { type: "text", value: text };
  try {
    // Throws for what nests too deep.
    return classify(parseJson(Buffer.from(trimmed), MAX_DEPTH));
  } catch {
    return { type: "text", value: text };
  }
}

/** A fraction that is written in another way, such as a price of `1.50`, stays text. */
function classifyScalar(text: string, trimmed: string): OutputItem {
  const value = parseExact(trimmed);
  const isRewritten =
    typeof value === "number" && !Number.isInteger(value) && String(value) !== trimmed;
  return isRewritten ? { type: "text", value: text } : classify(value);
}
