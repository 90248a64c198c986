import {
  chunk,
  completion,
  DONE,
  HELLO,
  sent,
  stream,
  whole,
  type Outcome,
  type Quirk,
  type Reply,
} from "./quirk.ts";

const message = { role: "assistant", content: "Yes." };

function failed(what: string, error: unknown, words: string): Quirk {
  return { what, whole: whole(error), streamed: stream(error), comes: { fails: words } };
}

/** A refusal, before the answer. */
function busy(
  what: string,
  headers: Readonly<Record<string, string>>,
  comes: Outcome = { ...HELLO, requests: 2 },
): Quirk {
  const first: Reply = { ...whole({ error: { message: "Slow down" } }), status: 429 };
  return {
    ...sent(what, (reply) => reply),
    first: { ...first, headers: { ...first.headers, ...headers } },
    comes,
  };
}

const HELLO_CALL = { type: "function", function: { name: "nothing", arguments: "{}" } };

/** How providers say that they fail. */
export const ERROR_QUIRKS: readonly Quirk[] = [
  failed(
    "an error with status 200",
    { error: { message: "No endpoints found", code: 404 } },
    "failed: No endpoints found",
  ),
  failed("an error as text", { error: "model not found" }, "failed: model not found"),
  failed("an error as detail", { detail: "no such adapter" }, "failed: no such adapter"),
  failed(
    "an error of vLLM",
    { object: "error", message: "context is 4096 tokens", code: 400 },
    "failed: context is 4096 tokens",
  ),
  failed(
    "an error in a list (Gemini)",
    [{ error: { code: 400, message: "missing a thought_signature" } }],
    "failed: missing a thought_signature",
  ),
  failed(
    "an error beside choices (OpenRouter)",
    completion(
      { content: "" },
      { finish: "error", top: { error: { message: "Provider returned error", code: 502 } } },
    ),
    "failed: Provider returned error",
  ),
  failed(
    "an error within the choice (OpenRouter)",
    completion(
      { content: "" },
      { finish: "error", choice: { error: { message: "Upstream gave up", code: 502 } } },
    ),
    "failed: Upstream gave up",
  ),
  failed(
    "more calls than are made",
    completion({ tool_calls: Array.from({ length: 129 }, () => HELLO_CALL) }),
    "failed: The model made more than 128 calls in one answer.",
  ),
  failed(
    "more words than are kept",
    completion({ content: "a".repeat(2_000_001) }),
    "failed: The model said more than 2,000,000 characters in one answer.",
  ),
  {
    what: "an error behind the first words",
    whole: whole({ ...completion(message), error: { message: "went away" } }),
    streamed: stream(chunk({ content: "Y" }), { error: { message: "went away" } }, DONE),
    comes: { fails: "failed: went away" },
  },
  {
    what: "a failure that was sent as an event of errors",
    whole: whole({ error: { message: "boom" } }),
    streamed: stream(`event: error\ndata: {"error":{"message":"boom"}}\n\n`),
    comes: { fails: "failed: boom" },
  },
  busy("Retry-After in seconds", { "retry-after": "0" }),
  busy("Retry-After in parts of seconds", { "retry-after": "0.005" }),
  busy("Retry-After as a date", { "retry-after": "Fri, 01 Jan 2021 00:00:00 GMT" }),
  busy("Retry-After below zero", { "retry-after": "-3" }),
  busy("Retry-After in words", { "retry-after": "soon" }),
  busy("retry-after-ms", { "retry-after-ms": "3", "retry-after": "600" }),
  busy(
    "Retry-After that is too long",
    { "retry-after": "600" },
    { fails: "has no capacity for this key now (HTTP 429): Slow down", requests: 1 },
  ),
];
