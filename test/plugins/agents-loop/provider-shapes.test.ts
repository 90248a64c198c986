import { describe, expect, it } from "vitest";
import type { ChatMessage, ModelRequest } from "../../../plugins/agents/model.ts";
import { modelOf, provide, start, user } from "./start.ts";

const never = new AbortController().signal;
const REQUEST: ModelRequest = { system: "", messages: [user("Hello?")], tools: [] };
const faces: [string, Partial<ModelRequest>][] = [
  ["waited for", {}],
  ["streamed", { onText: () => undefined }],
];

/** A provider that answers everything with one status, type and body. */
function answering(status: number, body: string, type = "application/json") {
  return provide((res) => res.writeHead(status, { "content-type": type }).end(body));
}

async function wordsOf(url: string, more: Partial<ModelRequest>): Promise<string> {
  const model = modelOf({ url }, { retries: 0, apiKey: "secret-of-mine" });
  const error = await model.generate({ ...REQUEST, ...more }, never).then(
    () => new Error("did not fail"),
    (thrown: unknown) => thrown as Error,
  );
  return error.message;
}

describe.each(faces)("the reason of an error, %s", (_face, more) => {
  it.each([
    [
      '[{"error":{"code":400,"message":"Function call is missing a thought_signature"}}]',
      "Function call is missing a thought_signature",
    ],
    ['{"error":"model not found"}', "model not found"],
    ['{"detail":"no such adapter"}', "no such adapter"],
    [
      '{"detail":[{"loc":["body","tools"],"msg":"Field required"},{"msg":"Too long"}]}',
      "Field required; Too long",
    ],
    ['{"object":"error","message":"context is 4096 tokens","code":400}', "context is 4096 tokens"],
    ['{"error":{"message":"bad schema"}}', "bad schema"],
    ['{"errors":[],"error":{"error":{"message":"inner words"}}}', "inner words"],
  ])("bugs-rest 14: is told of %s", async (body, words) => {
    const { url } = await answering(400, body);
    expect(await wordsOf(url, more)).toContain(`(HTTP 400): ${words}`);
  });

  it.each([
    '{"error":"model not found"}',
    '{"object":"error","message":"model not found"}',
    '{"detail":"model not found"}',
  ])("bugs-rest 14: is told of %s within a stream", async (event) => {
    const { url } = await answering(200, `data: ${event}\n\n`, "text/event-stream");
    expect(await wordsOf(url, { onText: () => undefined, ...more })).toContain(
      "failed: model not found",
    );
  });

  it("is short, and shows no key, page or endless nesting", async () => {
    const long = await answering(
      400,
      JSON.stringify({ detail: `secret-of-mine ${"x".repeat(9_000)}` }),
    );
    const words = await wordsOf(long.url, more);
    expect(words).not.toContain("secret-of-mine");
    expect(words.length).toBeLessThan(500);
    const page = await answering(400, "<html>inside.example</html>", "text/html");
    expect(await wordsOf(page.url, more)).not.toContain("inside.example");
    const deep = await answering(400, `${'{"error":'.repeat(5_000)}"x"${"}".repeat(5_000)}`);
    expect(await wordsOf(deep.url, more)).toContain("refuses the request (HTTP 400).");
  });
});

describe("what a provider is sent again", () => {
  it.each(["openai-compatible", "openai", "anthropic"])(
    "bugs-rest 4: no empty message of a history, to %s",
    async (type) => {
      const server = await start([{ text: "Yes." }], type === "anthropic" ? { key: "k" } : {});
      const said = (role: "user" | "assistant", text: string): ChatMessage => ({
        role,
        parts: [{ type: "text", text }],
      });
      const messages = [
        user("One."),
        said("assistant", ""),
        said("user", " "),
        said("assistant", "\n"),
        user("Two."),
      ];
      await modelOf(server, { type, apiKey: "k" }).generate({ ...REQUEST, messages }, never);
      const sent = server.requests[0]!.body["messages"] as { role: string }[];
      expect(sent.map(({ role }) => role)).not.toContain("assistant");
      expect(JSON.stringify(sent)).toMatch(/One\..*Two\./);
      expect(JSON.stringify(sent)).not.toMatch(/"(?:text|content)":(?:"\s*"|\[\])/);
    },
  );

  it.each(faces)(
    "bugs-rest 6: the signature of a thought, whatever the provider is called, %s",
    async (_face, more) => {
      const call = {
        index: 0,
        id: "c1",
        type: "function",
        function: { name: "t", arguments: "{}" },
        extra_content: { google: { thought_signature: "SIG123" } },
      };
      const delta = { role: "assistant", tool_calls: [call] };
      const chunk = {
        id: "1",
        created: 0,
        model: "m",
        choices: [{ index: 0, delta, finish_reason: "tool_calls" }],
      };
      const whole = {
        ...chunk,
        choices: [{ index: 0, message: delta, finish_reason: "tool_calls" }],
      };
      const { url, bodies } = await ("onText" in more
        ? answering(200, `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, "text/event-stream")
        : answering(200, JSON.stringify(whole)));
      const tools = [{ name: "t", description: "T.", inputSchema: { type: "object" } }];
      const model = modelOf({ url });
      const { parts } = await model.generate({ ...REQUEST, tools, ...more }, never);
      const result = {
        type: "tool-result" as const,
        id: "c1",
        name: "t",
        isError: false,
        parts: [{ type: "text" as const, text: "done" }],
      };
      const messages: ChatMessage[] = [
        user("Go."),
        { role: "assistant", parts },
        { role: "tool", parts: [result] },
      ];
      await model.generate({ ...REQUEST, messages, tools, ...more }, never);
      expect(bodies[1]!["messages"]).toMatchObject([
        {},
        { tool_calls: [{ id: "c1", extra_content: { google: { thought_signature: "SIG123" } } }] },
        {},
      ]);
    },
  );
});
