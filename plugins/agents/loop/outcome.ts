import { toGatewayError, type Answer, type Json } from "propylon";
import { isObject, writeJson } from "propylon/kit";
import { scalarText } from "propylon/internal";
import type { ChatPart } from "../model.ts";

/** What a tool call came to, as the model is told. */
export interface ToolOutcome {
  readonly parts: readonly Shown[];
  readonly isError: boolean;
}

type Shown = Extract<ChatPart, { readonly type: "text" | "image" }>;

/** How much of one result a model is shown. */
export interface ResultLimits {
  /** Characters of text; the rest is cut off with a note. */
  readonly text: number;
  /** Bytes of one image, decoded; a larger one is only named. */
  readonly image: number;
}

const UNLIMITED: ResultLimits = { text: Infinity, image: Infinity };

/** A text as the outcome of a tool. */
export function say(text: string, isError = false): ToolOutcome {
  return { parts: [{ type: "text", text }], isError };
}

/** A call that did not come to an answer, for the model to react to: what was wrong, and what it can do. */
export function describeThrown(thrown: unknown): ToolOutcome {
  const { message, hint, code } = toGatewayError(thrown);
  return say(`Error (${code}): ${message}${hint === undefined ? "" : ` ${hint}`}`, true);
}

/** The answer of a tool: its content as far as a model can take it, or its structured content as JSON. */
export function describeAnswer(answer: Answer, limits: ResultLimits): ToolOutcome {
  const { error, result } = answer;
  if (error) return say(`Error (${error.code}): ${error.message}`, true);
  const type = result?.["resultType"];
  if (type !== undefined && type !== "complete")
    return say(
      `Error: the tool answered ${JSON.stringify(type)}, which an agent cannot go on from.`,
      true,
    );
  return { parts: shownOf(answer, limits), isError: result?.["isError"] === true };
}

function shownOf(answer: Answer, limits: ResultLimits): readonly Shown[] {
  const parts = shownParts(answer, limits);
  // An empty result is refused by some providers and puzzles models.
  return parts.length > 0 ? parts : [{ type: "text", text: "(no output)" }];
}

/** The content of a result as text and images; what is neither is named, so that nothing is lost without a word. */
export function shownParts(
  { result = {} }: Answer,
  limits: ResultLimits = UNLIMITED,
): readonly Shown[] {
  const content = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  const parts = content.filter(isObject).map((block) => showBlock(block, limits));
  const structured = result["structuredContent"];
  if (structured !== undefined && !parts.some(({ type }) => type === "text"))
    parts.push({ type: "text", text: writeJson(structured) });
  return parts;
}

function showBlock(block: Json, limits: ResultLimits): Shown {
  const { type, text, data, mimeType } = block;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string")
    return showImage(data, mimeType, limits);
  if (type === "resource" && isObject(block["resource"]))
    return showResource(block["resource"], limits);
  if (type === "resource_link") return { type: "text", text: describeLink(block) };
  return { type: "text", text: `[${scalarText(type)}, ${sizeOf(data)}: not shown]` };
}

function showImage(data: string, mimeType: string, { image }: ResultLimits): Shown {
  if (Buffer.byteLength(data, "base64") <= image) return { type: "image", mimeType, data };
  return { type: "text", text: `[${mimeType}, ${sizeOf(data)}: too large to show]` };
}

function showResource(resource: Json, limits: ResultLimits): Shown {
  const { text, blob, mimeType, uri } = resource;
  if (typeof text === "string") return { type: "text", text };
  const kind = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  if (typeof blob === "string" && kind.startsWith("image/")) return showImage(blob, kind, limits);
  return { type: "text", text: `[${scalarText(uri)}, ${kind}, ${sizeOf(blob)}: not shown]` };
}

function describeLink({ uri, name, description }: Json): string {
  const words = [name, description].filter((word) => typeof word === "string").join(": ");
  return `[Resource ${scalarText(uri)}${words === "" ? "" : ` (${words})`}]`;
}

function sizeOf(data: unknown): string {
  return typeof data === "string" ? `${Buffer.byteLength(data, "base64")} bytes` : "no data";
}

/** Keeps texts up to a number of characters together, and says what is missing. */
export function cutText(parts: readonly Shown[], limit: number): readonly Shown[] {
  const total = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (total <= limit) return parts;
  let left = limit;
  const kept = parts.flatMap((part): readonly Shown[] => {
    if (part.type !== "text") return [part];
    const text = headOf(part.text, left);
    left -= part.text.length;
    return text === "" ? [] : [{ type: "text", text }];
  });
  const note = `[Cut: ${total} characters in all, the first ${limit} are shown.]`;
  return [...kept, { type: "text", text: note }];
}

/** The first characters, without half of a surrogate pair at the end: providers refuse it. */
function headOf(text: string, length: number): string {
  const head = text.slice(0, Math.max(0, length));
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head;
}
