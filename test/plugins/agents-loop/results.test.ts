import { Answer, GatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import { modelOf, resultsIn, run, start } from "./start.ts";

const READ = { name: "files__read", args: { path: "/x" } };

describe("what a model gets to see of a tool call", () => {
  it("P124: images of tools reach the model", async () => {
    const server = await start([{ calls: [READ] }, { text: "A cat." }]);
    const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
    await run({
      model: modelOf(server),
      call: () =>
        Promise.resolve(Answer.result({ content: [{ type: "text", text: "Here:" }, image] })),
    });
    expect(server.requests[1]!.body["messages"]).toMatchObject([
      {},
      {},
      {},
      { role: "tool", content: "Here:\n[image/png: shown in the next message]" },
      { role: "user", content: [{}, { image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }] },
    ]);
  });

  it.each([
    ["structured content without text", { content: [], structuredContent: { a: 1 } }, '{"a":1}'],
    ["nothing", { content: [] }, "(no output)"],
    [
      "a link",
      { content: [{ type: "resource_link", uri: "file:///a", name: "a" }] },
      "[Resource file:///a (a)]",
    ],
    [
      "a text resource",
      { content: [{ type: "resource", resource: { uri: "file:///a", text: "inside" } }] },
      "inside",
    ],
    [
      "sound",
      { content: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }] },
      "[audio, 3 bytes: not shown]",
    ],
    [
      "too much text",
      {
        content: [
          { type: "text", text: "a".repeat(30) },
          { type: "text", text: "b".repeat(30) },
        ],
      },
      `${"a".repeat(30)}\n${"b".repeat(20)}\n[Cut: 60 characters in all, the first 50 are shown.]`,
    ],
    [
      "too large an image",
      { content: [{ type: "image", mimeType: "image/png", data: "A".repeat(8_000_000) }] },
      "[image/png, 6000000 bytes: too large to show]",
    ],
    [
      "a question",
      { resultType: "input_required" },
      'Error: the tool answered "input_required", which a\n[Cut: 76 characters in all, the first 50 are shown.]',
    ],
  ])("%s", async (_what, content, seen) => {
    const server = await start([{ calls: [READ] }, { text: "Done." }]);
    await run({
      model: modelOf(server),
      limits: { result: 50 },
      call: () => Promise.resolve(Answer.result(content)),
    });
    const [shown] = server.requests[1]!.results;
    expect(shown).toBe(seen);
  });

  it.each([
    ["disabled", 'Error (disabled): Tool "read" is disabled. Ask an operator.'],
    ["rate_limited", 'Error (rate_limited): Tool "read" is disabled. Ask an operator.'],
    ["timeout", 'Error (timeout): Tool "read" is disabled. Ask an operator.'],
    ["not_found", 'Error (not_found): Tool "read" is disabled. Ask an operator.'],
  ] as const)("a call refused with %s is an error to react to", async (code, seen) => {
    const server = await start([{ calls: [READ] }, { text: "Then not." }]);
    const { result } = await run({
      model: modelOf(server),
      call: () =>
        Promise.reject(
          new GatewayError(code, 'Tool "read" is disabled.', { hint: "Ask an operator." }),
        ),
    });
    expect(resultsIn(result.messages)).toMatchObject([{ isError: true, parts: [{ text: seen }] }]);
    expect(result).toMatchObject({ end: "finished", text: "Then not." });
  });

  it("a crash inside the gateway tells nothing about itself", async () => {
    const server = await start([{ calls: [READ] }, { text: "Done." }]);
    await run({ model: modelOf(server), call: () => Promise.reject(new Error("/secret/path")) });
    expect(server.requests[1]!.results).toEqual(["Error (internal): Internal error."]);
  });

  it("a JSON-RPC error is an error to react to", async () => {
    const server = await start([{ calls: [READ] }, { text: "Done." }]);
    const call = () => Promise.resolve(Answer.error({ code: -32602, message: "path: missing" }));
    const { result } = await run({ model: modelOf(server), call });
    expect(resultsIn(result.messages)).toMatchObject([
      { isError: true, parts: [{ text: "Error (-32602): path: missing" }] },
    ]);
  });
});
