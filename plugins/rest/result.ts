import { STATUS_CODES } from "node:http";
import { Answer, type Json } from "propylon";
import { blobContent, isObject, parseJson } from "propylon/kit";
import type { ApiReply } from "./http.ts";

/** How much of an error body a model is shown, in characters. */
const EXCERPT = 2_000;
/** Deepest nesting of JSON that becomes structured content; a client's own limit may be lower. */
const MAX_DEPTH = 64;

/**
 * What an API answered as the result of a tool: JSON as structured content and text, text as text, pictures and sound as such,
 * everything else as a resource. A status above 399 is the tool's own failure.
 *
 * @param promised whether the tool has an output schema, so that its result must be an object
 */
export function replyToAnswer(reply: ApiReply, promised: boolean): Answer {
  const type = reply.contentType.split(";", 1)[0]!.trim().toLowerCase();
  if (reply.status >= 300) return failure(reply, type);
  const json = isJson(type) ? parse(reply.body) : undefined;
  if (isObject(json)) return Answer.result({ content: [text(reply)], structuredContent: json });
  const content = [
    reply.body.length === 0 ? said(statusLine(reply.status)) : contentOf(reply, type),
  ];
  if (!promised) return Answer.result({ content });
  const why = said(
    `The API answered ${type || "nothing"} where its document promises a JSON object.`,
  );
  return Answer.result({ isError: true, content: [why, ...content] });
}

function failure(reply: ApiReply, type: string): Answer {
  const { status, body, location } = reply;
  const where =
    location === undefined ? "" : " It redirects to another address, which is not followed.";
  const excerpt = isText(type) ? body.toString("utf8").slice(0, EXCERPT) : "";
  return Answer.failed(`${statusLine(status)}.${where}${excerpt && `\n\n${excerpt}`}`);
}

function contentOf(reply: ApiReply, type: string): Json {
  if (isText(type)) return text(reply);
  const data = reply.body.toString("base64");
  return blobContent(data, type || "application/octet-stream", reply.url);
}

function text({ body }: ApiReply): Json {
  return said(body.toString("utf8"));
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

function parse(body: Buffer): unknown {
  try {
    return parseJson(body, MAX_DEPTH);
  } catch {
    return undefined;
  }
}
