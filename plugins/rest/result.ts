import { STATUS_CODES } from "node:http";
import { Answer, type Json } from "propylon";
import { isObject } from "propylon/kit";
import {
  blobContent,
  mapExact,
  META_RETRY_AFTER,
  parseBounded,
  wrapResult,
} from "propylon/internal";
import { isUtf8 } from "node:buffer";
import type { ApiReply } from "./http.ts";

type Decoder = InstanceType<typeof TextDecoder>;

/** Longest name of a charset. */
const MAX_NAME = 40;

/**
 * The text of a body in the charset that its content type names. Without one, or with one that nobody knows, it is UTF-8 if it can
 * be; what else it is, Windows-1252 tells at least without a loss.
 */
function decodeText(body: Buffer, contentType: string): string {
  const named = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  const decoder =
    byMark(body) ?? decoderOf(named) ?? new TextDecoder(isUtf8(body) ? "utf-8" : "windows-1252");
  // In one piece, Node 20 reads Windows-1252 as ISO-8859-1: the euro sign and quotation marks would be control characters.
  return decoder.decode(body, { stream: true }) + decoder.decode();
}

/** A byte order mark is surer than what is said of it; `utf-16` alone means little-endian (WHATWG Encoding, 4.2). */
function byMark(body: Buffer): Decoder | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return decoderOf("utf-16be");
  if (body[0] === 0xff && body[1] === 0xfe) return decoderOf("utf-16le");
  return undefined;
}

function decoderOf(name: string | undefined): Decoder | undefined {
  if (name === undefined || name.length > MAX_NAME) return undefined;
  try {
    return new TextDecoder(name);
  } catch {
    return undefined;
  }
}

/** How much of an error body a model is shown, in characters. */
const EXCERPT = 2_000;
/** Deepest nesting of JSON that becomes structured content; a client's own limit may be lower. */
const MAX_DEPTH = 64;

/**
 * What an API answered as the result of a tool: JSON as structured content and text, text as text, pictures and sound as such,
 * everything else as a resource. A status above 399 is the tool's own failure, and no other is: what was done is done, whatever
 * the document says of its answer.
 *
 * @param promised whether the tool has an output schema: clients take no result without an object then
 */
export function replyToAnswer(reply: ApiReply, promised: boolean): Answer {
  const type = reply.contentType.split(";", 1)[0]!.trim().toLowerCase();
  if (reply.status >= 300) return failure(reply, type);
  const block = blockOf(reply, type);
  const json = isJson(type) ? parse(block["text"]) : undefined;
  if (isObject(json)) return Answer.result({ content: [block], structuredContent: json });
  if (!promised) return Answer.result({ content: [block] });
  return Answer.result(wrapResult([block], json));
}

function blockOf(reply: ApiReply, type: string): Json {
  return reply.body.length === 0 ? said(statusLine(reply.status)) : contentOf(reply, type);
}

function failure(reply: ApiReply, type: string): Answer {
  const { status, body, location, retryAfter } = reply;
  const where =
    location === undefined ? "" : " It redirects to another address, which is not followed.";
  const excerpt = isText(type) ? decodeText(body, reply.contentType).slice(0, EXCERPT) : "";
  const wait = retryAfter === undefined ? "" : ` Try again in ${retryAfter} s.`;
  const words = `${statusLine(status)}.${where}${wait}${excerpt && `\n\n${excerpt}`}`;
  return Answer.result({
    content: [said(words)],
    isError: true,
    ...(retryAfter !== undefined && { _meta: { [META_RETRY_AFTER]: retryAfter } }),
  });
}

function contentOf(reply: ApiReply, type: string): Json {
  if (isText(type)) return text(reply);
  const data = reply.body.toString("base64");
  return blobContent(data, type || "application/octet-stream", reply.url);
}

function text({ body, contentType }: ApiReply): Json {
  return said(decodeText(body, contentType));
}

function said(words: string): Json {
  return { type: "text", text: words };
}

function statusLine(status: number): string {
  return `HTTP ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
}

function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

function isText(type: string): boolean {
  return (
    isJson(type) ||
    type.startsWith("text/") ||
    (type.endsWith("+xml") && !type.startsWith("image/")) ||
    /^application\/(?:xml|yaml|javascript|x-www-form-urlencoded|x-ndjson)$/.test(type)
  );
}

/** `undefined` for invalid JSON, and for JSON that nests too deep or would hold the event loop. */
function parse(written: unknown): unknown {
  if (typeof written !== "string") return undefined;
  try {
    // As text: most clients read data with a parser that would change it, and show the model nothing else.
    return mapExact(parseBounded(Buffer.from(written), MAX_DEPTH), ({ text: digits }) => digits);
  } catch {
    return undefined;
  }
}
