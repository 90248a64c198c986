import {
  chunk,
  completion,
  DONE,
  pieces,
  said,
  stream,
  whole,
  type Outcome,
  type Quirk,
} from "./quirk.ts";

const YES: Outcome = { text: "Yes.", end: "finished" };
const THOUGHT: Outcome = { text: "[The model thought, and gave no answer.]", end: "finished" };
const message = { role: "assistant", content: "Yes." };
const COUNTED = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const COUNTS: Outcome = { ...YES, usage: { inputTokens: 11, outputTokens: 7 } };

/** How texts, roles, reasons and counts are written. */
export const ANSWER_QUIRKS: readonly Quirk[] = [
  said("finish_reason null", message, YES, { finish: null }),
  {
    what: "no finish_reason",
    whole: whole({ choices: [{ message }] }),
    streamed: stream({ choices: [{ delta: message }] }, DONE),
    comes: YES,
  },
  said("an empty finish_reason", message, YES, { finish: "" }),
  said("a finish_reason that nobody knows", message, YES, { finish: "eos_token" }),
  said(
    "finish_reason length",
    message,
    {
      text: "Yes.\n[Stopped before the task was done: the budget of tokens that the model has for one answer is used up.]",
      end: "tokens",
    },
    { finish: "length" },
  ),
  said(
    "finish_reason content_filter without a word",
    { content: null },
    { text: "[The model refused to answer.]", end: "finished" },
    { finish: "content_filter" },
  ),
  said("finish_reason content_filter behind words", message, YES, { finish: "content_filter" }),
  said(
    "content as a list of parts",
    {
      content: [
        { type: "text", text: "Y" },
        { type: "text", text: "es." },
      ],
    },
    YES,
  ),
  said(
    "content as a list of output_text",
    { content: [{ type: "output_text", text: "Yes." }] },
    YES,
  ),
  said("content as a list of texts", { content: ["Yes", "."] }, YES),
  said("content null", { content: null }, { text: "", end: "finished" }),
  said("empty content", { content: "" }, { text: "", end: "finished" }),
  said("no content", { role: "assistant" }, { text: "", end: "finished" }),
  said(
    "a refusal",
    { content: null, refusal: "I cannot help." },
    { text: "I cannot help.", end: "finished" },
  ),
  said("an empty refusal", { ...message, refusal: "" }, YES),
  said(
    "a refusal as a part of content",
    { content: [{ type: "refusal", refusal: "I cannot help." }] },
    { text: "I cannot help.", end: "finished" },
  ),
  said("reasoning_content before the answer", { ...message, reasoning_content: "Hm." }, YES),
  said("reasoning before the answer", { ...message, reasoning: "Hm." }, YES),
  said(
    "reasoning in both members",
    { ...message, reasoning: "Hm.", reasoning_content: "Hm." },
    YES,
  ),
  said("reasoning as a map", { ...message, reasoning: { text: "Hm." } }, YES),
  said(
    "reasoning_details before the answer",
    { ...message, reasoning_details: [{ type: "reasoning.text", text: "Hm." }] },
    YES,
  ),
  said(
    "reasoning as a part of content (Mistral)",
    {
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
        { type: "text", text: "Yes." },
      ],
    },
    YES,
  ),
  said("<think> before the answer", { content: "<think>Hm.</think>\nYes." }, YES),
  said("<think> alone", { content: "<think>Hm." }, THOUGHT),
  said("no usage", message, { ...YES }),
  said("usage null", message, YES, { top: { usage: null } }),
  said("usage in every chunk", message, COUNTS, { top: { usage: COUNTED } }),
  {
    what: "usage in a last chunk without choices",
    whole: whole(completion(message, { top: { usage: COUNTED } })),
    streamed: stream(
      chunk(message),
      chunk({}, { finish: "stop" }),
      { choices: [], usage: COUNTED },
      DONE,
    ),
    comes: COUNTS,
  },
  {
    what: "usage in a last chunk that has no choices at all",
    whole: whole(completion(message, { top: { usage: COUNTED } })),
    streamed: stream(chunk(message), chunk({}, { finish: "stop" }), { usage: COUNTED }, DONE),
    comes: COUNTS,
  },
  said("usage as text", message, COUNTS, {
    top: { usage: { prompt_tokens: "11", completion_tokens: "7" } },
  }),
  said("usage within the choice (Kimi)", message, COUNTS, { choice: { usage: COUNTED } }),
  said("model null", message, YES, { top: { model: null } }),
  said("no model, id and created", message, YES, {
    top: { model: undefined, id: undefined, created: undefined },
  }),
  said("created as text", message, YES, { top: { created: "2026-01-01" } }),
  said("an id that is a number", message, YES, { top: { id: 5 } }),
  said("no role", { content: "Yes." }, YES),
  said("an empty role", { ...message, role: "" }, YES),
  said("a role that nobody knows", { ...message, role: "model" }, YES),
  pieces(
    "a role in every chunk",
    message,
    [
      { role: "assistant", content: "Y" },
      { role: "assistant", content: "es." },
    ],
    YES,
  ),
  said("error null beside the answer", message, YES, { top: { error: null } }),
  said(
    "members that nobody knows",
    { ...message, audio: null, annotations: [{ type: "x" }], x: 1 },
    YES,
    { top: { system_fingerprint: null, x_groq: { id: 1 }, service_tier: 3 } },
  ),
  said("logprobs in a shape of their own", message, YES, {
    choice: { logprobs: { content: [{ token: 5 }] } },
  }),
  said("no index of the choice", message, YES, { choice: { index: undefined } }),
  said("an index of the choice as text", message, YES, { choice: { index: "0" } }),
  {
    what: "two choices",
    whole: whole({
      choices: [
        { index: 0, message, finish_reason: "stop" },
        { index: 1, message: { content: "No." }, finish_reason: "stop" },
      ],
    }),
    streamed: stream(
      chunk({ content: "Y" }),
      chunk({ content: "N" }, { choice: { index: 1 } }),
      chunk({ content: "es." }),
      chunk({ content: "o." }, { choice: { index: 1 } }),
      chunk({}, { finish: "stop" }),
      chunk({}, { finish: "stop", choice: { index: 1 } }),
      DONE,
    ),
    comes: YES,
  },
  {
    what: "no choices",
    whole: whole({ choices: [] }),
    streamed: stream({ choices: [] }, DONE),
    comes: { text: "", end: "finished" },
  },
  {
    what: "message in place of delta in a stream",
    whole: whole(completion(message)),
    streamed: stream(completion(message), DONE),
    comes: YES,
  },
  {
    what: "the whole message behind its pieces",
    whole: whole(completion(message)),
    streamed: stream(chunk(message), completion(message), DONE),
    comes: YES,
  },
  {
    what: "a first chunk without choices, and filter results (Azure)",
    whole: whole({
      prompt_filter_results: [],
      ...completion(message, { choice: { content_filter_results: { hate: { filtered: false } } } }),
    }),
    streamed: stream(
      {
        choices: [],
        prompt_filter_results: [{ prompt_index: 0 }],
        model: "",
        id: "",
        created: 0,
        object: "",
      },
      chunk(message, { choice: { content_filter_results: {} } }),
      chunk({}, { finish: "stop" }),
      DONE,
    ),
    comes: YES,
  },
];
