import type { ServerResponse } from "node:http";
import { writeJson as exact } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { ANSWER_QUIRKS } from "./quirks/answers.ts";
import { ARGUMENT_QUIRKS } from "./quirks/arguments.ts";
import { BYTE_QUIRKS } from "./quirks/bytes.ts";
import { CALL_QUIRKS } from "./quirks/calls.ts";
import { ERROR_QUIRKS } from "./quirks/errors.ts";
import { MESSAGE_QUIRKS } from "./quirks/messages.ts";
import { DONE, stream, chunk, type Outcome, type Quirk, type Reply } from "./quirks/quirk.ts";
import { modelOf, provide, resultsIn, run } from "./start.ts";

/**
 * One table of what providers do unlike each other. Whether somebody listens to the run, and whether the provider streams its answer
 * or sends it whole, makes no difference. Not doubled here: how long `Retry-After` waits and retries of a lost connection
 * (models.test.ts), reasons of errors with a status (provider-shapes.test.ts), schemas, thoughts that go back and `<think>` in
 * pieces (provider-quirks.test.ts), images (providers.test.ts).
 */
const CHAT_QUIRKS: readonly (readonly [string, readonly Quirk[]])[] = [
  ["calls", CALL_QUIRKS],
  ["arguments", ARGUMENT_QUIRKS],
  ["answers", ANSWER_QUIRKS],
  ["bytes", BYTE_QUIRKS],
  ["errors", ERROR_QUIRKS],
];
const CHAT_TYPES = ["openai-compatible", "openai"];

const LAST: Readonly<Record<string, Reply>> = {
  chat: stream(chunk({ content: "Done." }, { finish: "stop" }), DONE),
  messages: stream(
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "Done." } },
    { type: "message_stop" },
  ),
};

async function give(res: ServerResponse, { status = 200, headers, body, open }: Reply) {
  res.writeHead(status, headers);
  for (const piece of typeof body === "string" || Buffer.isBuffer(body) ? [body] : body) {
    res.write(piece);
    await new Promise(setImmediate);
  }
  if (!open) res.end();
}

/** Runs an agent against a provider that answers with `reply`, and with a last word behind its calls. */
async function outcomeOf(
  type: string,
  { first, comes }: Quirk,
  reply: Reply,
  deltas: boolean,
): Promise<Outcome> {
  const replies = [...(first ? [first] : []), reply];
  const last = LAST[type === "anthropic" ? "messages" : "chat"]!;
  const { url, bodies } = await provide((res, count) => void give(res, replies[count - 1] ?? last));
  const model = modelOf({ url }, { type, apiKey: "k", retries: first ? 1 : 0, timeout: "5s" });
  try {
    const { result, calls, events } = await run({ model, deltas });
    const written = events.flatMap((event) => (event.type === "text" ? [event.text] : []));
    const errors = resultsIn(result.messages).filter(({ isError }) => isError);
    const told = errors.flatMap(({ parts }) => parts.map((part) => "text" in part && part.text));
    expect(result.text.startsWith("[") || result.text.includes(written.join(""))).toBe(true);
    expect(resultsIn(result.messages)).toHaveLength(calls.length + told.length);
    return {
      ...(comes.calls && { calls: calls.map(({ name, args }) => `${name} ${exact(args)}`) }),
      ...(told.length > 0 && { told: told as string[] }),
      text: result.text,
      end: result.end,
      ...(comes.usage && { usage: result.usage }),
      ...(comes.requests !== undefined && { requests: bodies.length }),
    };
  } catch (thrown) {
    const { message } = thrown as Error;
    const fails =
      comes.fails !== undefined && message.includes(comes.fails) ? comes.fails : message;
    return { fails, ...(comes.requests !== undefined && { requests: bodies.length }) };
  }
}

const FACES: readonly (readonly [string, "whole" | "streamed", boolean])[] = [
  ["whole, waited for", "whole", false],
  ["whole, listened to", "whole", true],
  ["streamed, waited for", "streamed", false],
  ["streamed, listened to", "streamed", true],
];

/** What each face comes to, and what all of them should. */
async function compare(type: string, quirk: Quirk) {
  const came: Record<string, Outcome> = {};
  for (const [face, form, deltas] of FACES)
    came[face] = await outcomeOf(type, quirk, quirk[form], deltas);
  return { came, wanted: Object.fromEntries(FACES.map(([face]) => [face, quirk.comes])) };
}

describe.each(CHAT_TYPES)("issue line 6, bugs-rest 1 and 13: %s", (type) => {
  describe.each(CHAT_QUIRKS)("%s", (_kind, quirks) => {
    it.each(quirks)("$what", async (quirk) => {
      const { came, wanted } = await compare(type, quirk);
      expect(came).toEqual(wanted);
    });
  });
});

describe("issue line 6, bugs-rest 1 and 13: anthropic", () => {
  it.each(MESSAGE_QUIRKS)("$what", async (quirk) => {
    const { came, wanted } = await compare("anthropic", quirk);
    expect(came).toEqual(wanted);
  });
});

it("has a row for each of 62 quirks and more, each once", () => {
  const rows = CHAT_QUIRKS.flatMap(([kind, quirks]) =>
    quirks.map(({ what }) => `${kind}: ${what}`),
  );
  rows.push(...MESSAGE_QUIRKS.map(({ what }) => `messages: ${what}`));
  expect(new Set(rows).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThanOrEqual(62);
});
