import { afterAll, beforeAll, expect, it } from "vitest";
import { Foe } from "./foe.ts";
import { ProbedGateway } from "./gateway.ts";
import { exchangeInSession } from "./mcp-session.ts";
import { IS_CAMPAIGN, MOST_MS } from "./trials.ts";

const MIB = 1024 * 1024;
/** How much a model says in tiny pieces. */
const BYTES = IS_CAMPAIGN ? 4 * MIB : MIB / 2;
/** Most memory that it takes: a model may say 8,000,000 characters in a run, the same at each turn. */
const MOST_MEMORY = 20 * 8_000_000;

const CHAT = "/v1/chat/completions";

let foe: Foe;
let gateway: ProbedGateway;

beforeAll(async () => {
  foe = await Foe.start();
  gateway = await ProbedGateway.start((port) => ({
    listeners: { main: { port } },
    servers: { foe: { url: `${foe.url}/mcp`, protocol: "legacy" } },
    agents: { worker: { description: "Works.", instructions: "You work.", servers: ["foe"] } },
    plugins: {
      agents: {
        model: "foe/scripted",
        providers: { foe: { type: "openai-compatible", baseUrl: `${foe.url}/v1` } },
      },
      mcp: {},
    },
  }));
}, 60_000);

afterAll(async () => {
  await gateway.stop();
  await foe.close();
});

/** An event with a delta. */
function delta(value: object): string {
  const choices = [{ index: 0, delta: value }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "x", choices })}\n\n`;
}

function argumentsOf(index: number, text: string): string {
  return delta({ tool_calls: [{ index, function: { arguments: text } }] });
}

function callOf(index: number, text: string): string {
  const named = { name: "foe__echo", arguments: text };
  return delta({ tool_calls: [{ index, id: `c${index}`, type: "function", function: named }] });
}

const STOP = `data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;

/** What a model says: how it begins, each piece, and how it ends. */
const SAID: Readonly<
  Record<
    string,
    {
      readonly begin?: string;
      readonly piece: (at: number) => string;
      readonly end?: string;
      /** Default: {@link BYTES}. */
      readonly bytes?: number;
    }
  >
> = {
  "empty events": { piece: () => "data:\n\n" },
  "empty lines": { piece: () => "\n" },
  comments: { piece: () => ":\n" },
  "lines of one event": { piece: () => "data:\n" },
  "events that are a number": { piece: () => "data: 1\n\n" },
  "events that are a map": { piece: () => "data: {}\n\n" },
  "texts of a letter": { piece: () => delta({ content: "a" }) },
  "empty texts": { piece: () => delta({ content: "" }) },
  "thoughts of a letter": { piece: () => delta({ reasoning_content: "a" }) },
  "beginnings of a thought": { piece: () => delta({ content: "<think>" }) },
  "refusals of a letter": { piece: () => delta({ refusal: "a" }) },
  "arguments of a letter": {
    begin: callOf(0, '{"text":"'),
    piece: () => argumentsOf(0, "a"),
    end: argumentsOf(0, '"}'),
  },
  "arguments of a list": {
    begin: callOf(0, '{"rows":['),
    piece: () => argumentsOf(0, "1,"),
    end: argumentsOf(0, "1]}"),
  },
  "one event of many choices": {
    begin: 'data: {"id":"x","choices":[',
    piece: () => '{"index":0,"delta":{"content":"a word of some length, as a model says it"}},',
    end: '{"index":0,"delta":{}}]}\n\n',
    bytes: IS_CAMPAIGN ? 2_000_000 : BYTES,
  },
  "calls of their own": { piece: (at) => callOf(at, "{}") },
  "calls without an end": { piece: (at) => callOf(at, '{"a":') },
  "one long line": { begin: "data: ", piece: () => "a", end: "\n\n" },
  "one long text": {
    begin: 'data: {"id":"x","choices":[{"index":0,"delta":{"content":"',
    piece: () => "a",
    end: '"}}]}\n\n',
  },
  "one long argument": {
    begin:
      'data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"foe__echo","arguments":"{\\"text\\":\\"',
    piece: () => "a",
    end: '\\"}"}}]}}]}\n\n',
  },
  "one argument as long as may be": {
    bytes: IS_CAMPAIGN ? 1_900_000 : BYTES,
    begin:
      'data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"foe__echo","arguments":"{\\"text\\":\\"',
    piece: () => "a",
    end: '\\"}"}}]}}]}\n\n',
  },
};

it.each(Object.keys(SAID))(
  "S2-3: a model that says 4 MiB in tiny pieces does not hold the event loop: %s",
  async (name) => {
    const { begin = "", piece, end = "", bytes = BYTES } = SAID[name]!;
    const pieces: string[] = [];
    for (let length = 0; length < bytes; length += pieces.at(-1)!.length)
      pieces.push(piece(pieces.length));
    const words = Buffer.from(begin + pieces.join("") + end + STOP);
    foe.say(CHAT, words, "text/event-stream");
    const params = { name: "worker", arguments: { message: "Hello." } };
    const asked = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const { held, grown } = await gateway.measure(() =>
      exchangeInSession(`${gateway.url}/agents/worker/mcp`, Buffer.from(asked)),
    );
    gateway.assertAlive();
    const line = `${Math.round(held)} ms, ${(grown / MIB).toFixed(1)} MiB`;
    if (IS_CAMPAIGN) process.stdout.write(`model: ${line}: ${name}\n`);
    expect(held > MOST_MS || grown > MOST_MEMORY ? [line] : []).toEqual([]);
  },
  120_000,
);

it("S1-3: SIGTERM ends it in order afterwards", async () => {
  expect(await gateway.stop()).toBe("0");
});
