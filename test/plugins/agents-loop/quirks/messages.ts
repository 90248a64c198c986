import { calls, stream, told, whole, type Outcome, type Quirk } from "./quirk.ts";

const YES: Outcome = { text: "Yes.", end: "finished" };
const READ_X = calls('read {"path":"x"}');
const USAGE = { input_tokens: 11, output_tokens: 7 };
const X = '{"path":"x"}';
type Block = Readonly<Record<string, unknown>>;
const TEXT: Block = { type: "text", text: "Yes." };

interface Fields {
  readonly stop?: unknown;
  readonly usage?: unknown;
  /** Events of the stream in place of those of the blocks. */
  readonly events?: readonly unknown[];
}

function use(more: Block = {}): Block {
  return { type: "tool_use", id: "t1", name: "files__read", input: { path: "x" }, ...more };
}

function start(index: unknown, block: Block) {
  return { type: "content_block_start", index, content_block: block };
}

function delta(index: unknown, said: Block) {
  return { type: "content_block_delta", index, delta: said };
}

function stop(index: unknown) {
  return { type: "content_block_stop", index };
}

function input(json: unknown, index: unknown = 0) {
  return delta(index, { type: "input_json_delta", partial_json: json });
}

/** A message of Anthropic's, and the same as a stream. */
function message(what: string, content: unknown, comes: Outcome, fields: Fields = {}): Quirk {
  const { stop: reason = "end_turn", usage = USAGE } = fields;
  const head = { id: "m", type: "message", role: "assistant", model: "m" };
  const counted = "usage" in fields ? (usage === undefined ? {} : { usage }) : { usage };
  const events =
    fields.events ??
    (content as readonly Block[]).flatMap((block, index) => [start(index, block), stop(index)]);
  return {
    what,
    whole: whole({ ...head, content, stop_reason: reason, ...counted }),
    streamed: stream(
      { type: "message_start", message: { ...head, content: [], stop_reason: null, ...counted } },
      ...events,
      { type: "message_delta", delta: { stop_reason: reason }, ...counted },
      { type: "message_stop" },
    ),
    comes,
  };
}

const plain = message("x", [TEXT], YES, {
  events: [
    start(0, { type: "text", text: "" }),
    delta(0, { type: "text_delta", text: "Yes." }),
    stop(0),
  ],
});

/** Anthropic's messages, and those of servers that imitate them. */
export const MESSAGE_QUIRKS: readonly Quirk[] = [
  { ...plain, what: "a message as Anthropic sends it" },
  message("words at the beginning of a block", [TEXT], YES),
  message("content as text", "Yes.", YES, { events: [start(0, { type: "text", text: "Yes." })] }),
  message("no content", [], { text: "", end: "finished" }),
  message("input in pieces", [use()], READ_X, {
    stop: "tool_use",
    events: [
      start(0, use({ input: {} })),
      input(""),
      input(X.slice(0, 4)),
      input(X.slice(4)),
      stop(0),
    ],
  }),
  message("input in the block itself", [use()], READ_X, { stop: "tool_use" }),
  message("input that is empty", [use({ input: {} })], calls("read {}"), {
    stop: "tool_use",
    events: [start(0, use({ input: {} })), input(""), stop(0)],
  }),
  message("no input", [use({ input: undefined })], calls("read {}"), { stop: "tool_use" }),
  message("input null", [use({ input: null })], calls("read {}"), { stop: "tool_use" }),
  message("input as text", [use({ input: X })], READ_X, { stop: "tool_use" }),
  message("input as a list", [use({ input: [1] })], told("The arguments are not a JSON object."), {
    stop: "tool_use",
  }),
  message("input that is an empty list (PHP)", [use({ input: [] })], calls("read {}"), {
    stop: "tool_use",
  }),
  message(
    "input with text behind",
    [use({ input: `${X} x` })],
    told("The arguments are invalid JSON."),
    { stop: "tool_use", events: [start(0, use({ input: {} })), input(`${X} x`), stop(0)] },
  ),
  message("a piece of input that is a map", [use()], READ_X, {
    stop: "tool_use",
    events: [start(0, use({ input: {} })), input({ path: "x" }), stop(0)],
  }),
  message(
    "input that was cut off before its first character",
    [use({ input: undefined })],
    told("The arguments are invalid JSON."),
    { stop: "max_tokens", events: [start(0, use({ input: {} })), input("")] },
  ),
  message("a block that does not end", [use()], READ_X, {
    stop: "tool_use",
    events: [start(0, use())],
  }),
  message(
    "two calls with one id",
    [use(), use({ name: "files__list", input: { dir: "y" } })],
    calls('read {"path":"x"}', 'list {"dir":"y"}'),
    { stop: "tool_use" },
  ),
  message(
    "two calls with one index",
    [use(), use({ id: "t2", name: "files__list", input: { dir: "y" } })],
    calls('read {"path":"x"}', 'list {"dir":"y"}'),
    {
      stop: "tool_use",
      events: [
        start(0, use({ input: {} })),
        input(X),
        stop(0),
        start(0, use({ id: "t2", name: "files__list", input: {} })),
        input('{"dir":"y"}'),
        stop(0),
      ],
    },
  ),
  message(
    "two calls with one index, no end of either",
    [use(), use({ id: "t2", name: "files__list", input: { dir: "y" } })],
    calls('read {"path":"x"}', 'list {"dir":"y"}'),
    {
      stop: "tool_use",
      events: [
        start(0, use({ input: {} })),
        input(X),
        start(0, use({ id: "t2", name: "files__list", input: {} })),
        input('{"dir":"y"}'),
      ],
    },
  ),
  message(
    "no ids",
    [use({ id: undefined }), use({ id: undefined, name: "files__list", input: {} })],
    calls('read {"path":"x"}', "list {}"),
    { stop: "tool_use" },
  ),
  message("an id that is a number", [use({ id: 7 })], READ_X, { stop: "tool_use" }),
  message("no index", [use()], READ_X, {
    stop: "tool_use",
    events: [start(undefined, use({ input: {} })), input(X, undefined), stop(undefined)],
  }),
  message(
    "no name",
    [use({ name: undefined })],
    {
      ...calls(),
      told: ['There is no tool "call_without_a_name". Tools: files__read, files__list.'],
    },
    { stop: "tool_use" },
  ),
  message("stop_reason end_turn with calls", [use()], READ_X),
  message("pings", [TEXT], YES, {
    events: [
      { type: "ping" },
      start(0, { type: "text", text: "" }),
      { type: "ping" },
      delta(0, { type: "text_delta", text: "Yes." }),
      stop(0),
    ],
  }),
  message("events that nobody knows", [TEXT], YES, {
    events: [
      { type: "message_hint", x: 1 },
      start(0, TEXT),
      delta(0, { type: "glitter_delta", x: 1 }),
      stop(0),
    ],
  }),
  message("blocks that nobody knows", [{ type: "glitter", x: 1 }, TEXT], YES),
  message(
    "thinking and its signature",
    [{ type: "thinking", thinking: "Hm.", signature: "S" }, TEXT],
    YES,
    {
      events: [
        start(0, { type: "thinking", thinking: "" }),
        delta(0, { type: "thinking_delta", thinking: "Hm." }),
        delta(0, { type: "signature_delta", signature: "S" }),
        stop(0),
        start(1, TEXT),
        stop(1),
      ],
    },
  ),
  message("redacted_thinking", [{ type: "redacted_thinking", data: "x" }, TEXT], YES),
  message("thinking alone", [{ type: "thinking", thinking: "Hm.", signature: "S" }], {
    text: "[The model thought, and gave no answer.]",
    end: "finished",
  }),
  message("citations", [{ ...TEXT, citations: [{ type: "x" }] }], YES, {
    events: [
      start(0, TEXT),
      delta(0, { type: "citations_delta", citation: { type: "x" } }),
      stop(0),
    ],
  }),
  message("stop_reason null", [TEXT], YES, { stop: null }),
  message(
    "stop_reason refusal without a word",
    [],
    { text: "[The model refused to answer.]", end: "finished" },
    { stop: "refusal" },
  ),
  message("stop_reason pause_turn", [TEXT], YES, { stop: "pause_turn" }),
  message("a stop_reason that nobody knows", [TEXT], YES, { stop: "eos" }),
  message(
    "stop_reason max_tokens",
    [TEXT],
    {
      text: "Yes.\n[Stopped before the task was done: the budget of tokens that the model has for one answer is used up.]",
      end: "tokens",
    },
    { stop: "max_tokens" },
  ),
  message("usage", [TEXT], { ...YES, usage: { inputTokens: 11, outputTokens: 7 } }),
  message("no usage", [TEXT], YES, { usage: undefined }),
  message("usage null", [TEXT], YES, { usage: null }),
  message(
    "usage as text",
    [TEXT],
    { ...YES, usage: { inputTokens: 11, outputTokens: 7 } },
    { usage: { input_tokens: "11", output_tokens: "7" } },
  ),
  {
    what: "no message_start",
    whole: plain.whole,
    streamed: stream(start(0, TEXT), stop(0), { type: "message_stop" }),
    comes: YES,
  },
  {
    what: "no message_stop",
    whole: plain.whole,
    streamed: stream(start(0, TEXT), stop(0), {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
    }),
    comes: YES,
  },
  {
    what: "[DONE] in place of message_stop",
    whole: plain.whole,
    streamed: stream(start(0, TEXT), stop(0), "data: [DONE]\n\n"),
    comes: YES,
  },
  {
    what: "a stream that stays open behind message_stop",
    whole: plain.whole,
    streamed: { ...plain.streamed, open: true },
    comes: YES,
  },
  {
    what: "an answer that was cut off",
    whole: whole('{"type":"message","content":[{"type":"te'),
    streamed: stream(start(0, TEXT), stop(0)),
    comes: { fails: "ended its answer before it was complete" },
  },
  {
    what: "an overloaded provider that says so with status 200",
    whole: whole({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    streamed: stream({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    comes: { fails: "failed: Overloaded" },
  },
  {
    what: "an error in a shape of its own",
    whole: whole({ error: "no such model" }),
    streamed: stream({ error: "no such model" }),
    comes: { fails: "failed: no such model" },
  },
];
