import { gzipSync } from "node:zlib";
import { chunk, completion, DONE, sent, stream, whole, type Outcome, type Quirk } from "./quirk.ts";

const YES: Outcome = { text: "Yes.", end: "finished" };
const message = { role: "assistant", content: "Yes." };
const ENDLESS = stream(chunk(message), chunk({}, { finish: "stop" }), DONE);

/** How bytes are sent. */
export const BYTE_QUIRKS: readonly Quirk[] = [
  {
    what: "comments and keep-alives",
    whole: whole(`\n\n \n${JSON.stringify(completion(message))}`),
    streamed: stream(
      ": OPENROUTER PROCESSING\n\n",
      ":\n\n",
      "\n",
      chunk(message),
      ": x\n",
      chunk({}, { finish: "stop" }),
      DONE,
    ),
    comes: YES,
  },
  sent("CRLF", (reply) => ({ ...reply, body: (reply.body as string).replaceAll("\n", "\r\n") })),
  sent("a lone CR", (reply) => ({ ...reply, body: (reply.body as string).replaceAll("\n", "\r") })),
  sent("a BOM", (reply) => ({ ...reply, body: `\uFEFF${reply.body as string}` })),
  sent("pieces of one byte", (reply) => ({
    ...reply,
    body: [...Buffer.from(reply.body as string)].map((byte) => Buffer.of(byte)),
  })),
  sent("pieces of seven bytes", (reply) => ({
    ...reply,
    body: Buffer.from(reply.body as string)
      .toString("latin1")
      .match(/[^]{1,7}/g)!
      .map((each) => Buffer.from(each, "latin1")),
  })),
  sent("chunked, no length", (reply) => ({ ...reply, body: [reply.body as string, "\n"] })),
  sent("gzip", (reply) => ({
    ...reply,
    headers: { ...reply.headers, "content-encoding": "gzip" },
    body: gzipSync(reply.body as string),
  })),
  sent("a charset", (reply) => ({
    ...reply,
    headers: { "content-type": `${reply.headers!["content-type"]}; charset=utf-8` },
  })),
  sent("upper case in the content type", (reply) => ({
    ...reply,
    headers: { "content-type": reply.headers!["content-type"]!.toUpperCase() },
  })),
  sent("text/plain", (reply) => ({ ...reply, headers: { "content-type": "text/plain" } })),
  sent("no content type", ({ body }) => ({ body })),
  sent("application/octet-stream", ({ body }) => ({
    body,
    headers: { "content-type": "application/octet-stream" },
  })),
  {
    what: "the type of the other form",
    whole: { ...whole(completion(message)), headers: ENDLESS.headers! },
    streamed: { ...ENDLESS, headers: { "content-type": "application/json" } },
    comes: YES,
  },
  {
    what: "no blank behind data:",
    whole: whole(completion(message)),
    streamed: stream(`data:${JSON.stringify(completion(message))}\n\n`, "data:[DONE]\n\n"),
    comes: YES,
  },
  {
    what: "events with names, ids and retry",
    whole: whole(completion(message)),
    streamed: stream(
      `id: 1\nevent: message\nretry: 5\ndata: ${JSON.stringify(chunk(message, { finish: "stop" }))}\n\n`,
      DONE,
    ),
    comes: YES,
  },
  {
    what: "no [DONE]",
    whole: whole(completion(message)),
    streamed: stream(chunk(message), chunk({}, { finish: "stop" })),
    comes: YES,
  },
  {
    what: "data behind [DONE]",
    whole: whole(`${JSON.stringify(completion(message))}\n\n\n`),
    streamed: stream(
      chunk(message, { finish: "stop" }),
      DONE,
      chunk({ content: " More." }),
      "data: x\n\n",
    ),
    comes: YES,
  },
  {
    what: "a stream that stays open behind [DONE]",
    whole: whole(completion(message)),
    streamed: { ...ENDLESS, open: true },
    comes: YES,
  },
  {
    what: "[DONE] with blanks",
    whole: whole(completion(message)),
    streamed: stream(chunk(message, { finish: "stop" }), "data:  [DONE] \n\n"),
    comes: YES,
  },
  {
    what: "events that say nothing",
    whole: whole(completion(message)),
    streamed: stream(
      "event: ping\ndata: {}\n\n",
      chunk(message),
      "data:\n\n",
      'data: {"type":"ping"}\n\n',
      chunk({}, { finish: "stop" }),
      DONE,
    ),
    comes: YES,
  },
  {
    what: "an answer that was cut off",
    whole: whole(JSON.stringify(completion(message)).slice(0, -40)),
    streamed: stream(chunk(message)),
    comes: { fails: "ended its answer before it was complete" },
  },
  {
    what: "an empty answer",
    whole: whole(""),
    streamed: stream(),
    comes: { fails: "ended its answer before it was complete" },
  },
  {
    what: "a page in place of an answer",
    whole: { headers: { "content-type": "text/html" }, body: "<html>Hello</html>" },
    streamed: { headers: { "content-type": "text/event-stream" }, body: "<html>Hello</html>" },
    comes: { fails: "sent something other than an answer" },
  },
  {
    what: "something else in JSON",
    whole: whole({ hello: 1 }),
    streamed: stream({ hello: 1 }, DONE),
    comes: { fails: "sent something other than an answer" },
  },
];
