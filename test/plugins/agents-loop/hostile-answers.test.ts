import { expect, it } from "vitest";
import {
  readAnswers,
  type AnswerReader,
} from "../../../plugins/agents/models/answers/answer-body.ts";
import { ChatAnswer } from "../../../plugins/agents/models/answers/chat-answer.ts";
import { usedTime } from "../../fixtures/process/used-time.mjs";
import { MessageAnswer } from "../../../plugins/agents/models/answers/message-answer.ts";

const MB = 1_000_000;

interface Outcome {
  readonly said: string;
  /** Longest work without a turn of the event loop, in milliseconds of the processor. */
  readonly held: number;
}

function* slicesOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Reads an answer that comes in chunks, each in a turn of its own. */
async function read(chunks: Generator<Buffer>, open: () => AnswerReader): Promise<Outcome> {
  let held = 0;
  let before = usedTime();
  const source = new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      held = Math.max(held, usedTime() - before);
      const { value, done } = chunks.next();
      before = usedTime();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const ask = readAnswers(() => Promise.resolve(new Response(source)), open);
  const said = await (await ask("http://provider.test/")).text();
  return { said, held: Math.max(held, usedTime() - before) };
}

const chat = (): AnswerReader => new ChatAnswer(() => ["notes__add"]);
const messages = (): AnswerReader => new MessageAnswer();

const saying = (content: string): string => JSON.stringify({ choices: [{ message: { content } }] });
const calling = (call: object): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`;
const block = (index: number): string =>
  `data: {"type":"content_block_start","index":${index},"content_block":{"type":"tool_use"}}\n\n`;
const piece = (args: string): string =>
  calling({ index: 0, function: { name: "notes__add", arguments: args } });
const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const HOSTILE: readonly (readonly [
  name: string,
  text: () => string,
  open: () => AnswerReader,
  told: string,
])[] = [
  ["60 MB of text that come whole", () => saying("x".repeat(60 * MB)), chat, "is larger than"],
  ["an event of 60 MB", () => `data: ${saying("x".repeat(60 * MB))}\n\n`, chat, "is larger than"],
  ["200,000 keys", () => `{${many(200_000, (at) => `"k${at}":{}`).join(",")}}`, chat, "null"],
  [
    "lists of 500,000 levels",
    () => `{"choices":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
    chat,
    "null",
  ],
  [
    "20,000 calls",
    () => many(20_000, (index) => calling({ index, function: { name: "notes__add" } })).join(""),
    chat,
    "more than 128 calls",
  ],
  [
    "20,000 calls of an Anthropic server that end with the message",
    () => many(20_000, block).join(""),
    messages,
    "more than 128 calls",
  ],
  [
    "30 MB of arguments that may be complete at each of 20 pieces",
    () =>
      [
        piece('{"x":"'),
        ...many(500, () => piece("y".repeat(60_000))),
        ...many(20, () => piece("}")),
        "data: [DONE]\n\n",
      ].join(""),
    chat,
    "more than 2,000,000 characters",
  ],
];

it.each(HOSTILE)(
  "a provider that sends %s is told so, and holds nobody up",
  async (_, text, open, told) => {
    const { said, held } = await read(slicesOf(text()), open);
    expect(said).toContain(told);
    expect(said.length).toBeLessThan(10 * MB);
    expect(held).toBeLessThan(250);
  },
);

it("arguments of too many keys, or too many levels, are no JSON to the model", async () => {
  const keys = `{${many(120_000, (at) => `"k${at}":{}`).join(",")}}`;
  const levels = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  for (const args of [keys, levels]) {
    const { said, held } = await read(slicesOf(`${piece(args)}data: [DONE]\n\n`), chat);
    expect(said).toContain('"arguments":"{"');
    expect(held).toBeLessThan(250);
  }
});
