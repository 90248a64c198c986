import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SafeKeys } from "../../../core/kit/safe-keys.ts";
import type { ModelReply, ModelRequest } from "../../../plugins/agents/model.ts";
import { ThoughtCut } from "../../../plugins/agents/models/thought-cut.ts";
import { fitSchema } from "../../../plugins/agents/models/tool-schema.ts";
import { modelOf, provide, run, start, user } from "./start.ts";

const never = new AbortController().signal;
const REQUEST: ModelRequest = { system: "", messages: [user("Hello?")], tools: [] };

/** A provider whose answers are these streams, one after the other; the last one again and again. */
function streaming(...answers: readonly (readonly object[])[]) {
  return provide((res, count) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const delta of answers[Math.min(count, answers.length) - 1]!)
      res.write(`data: ${JSON.stringify(delta)}\n\n`);
    res.end("data: [DONE]\n\n");
  });
}

function chunk(delta: object, finish: string | null = null): object {
  return { id: "1", created: 0, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] };
}

const CALL = {
  index: 0,
  id: "c1",
  type: "function",
  function: { name: "files__read", arguments: '{"path":"x"}' },
};

describe("bugs-rest 4: the tools of an agent, as providers take them", () => {
  const inputSchema = {
    type: "object",
    properties: {
      "filter[x]": { type: "string" },
      "post_ids[]": { type: "array", items: { type: "object", properties: { "a/b": {} } } },
      filter_x: { type: "string" },
    },
    required: ["filter[x]"],
    anyOf: [{ required: ["post_ids[]"] }, { required: ["filter_x"] }],
  };

  it.each(["openai", "openai-compatible", "anthropic"])(
    "have safe keys and a plain object at the top: %s",
    async (type) => {
      const server = await start([{ text: "Yes." }], type === "anthropic" ? { key: "k" } : {});
      const tools = [{ name: "t", description: "T.", inputSchema }];
      await modelOf(server, { type, apiKey: "k" }).generate({ ...REQUEST, tools }, never);
      const [sent] = server.requests[0]!.body["tools"] as Record<string, never>[];
      const schema = (sent!["input_schema"] ?? sent!["function"]!["parameters"]) as {
        properties: object;
        required: string[];
        description: string;
      };
      expect(schema).not.toHaveProperty("anyOf");
      expect(Object.keys(schema.properties)).toEqual(["filter_x_2", "post_ids", "filter_x"]);
      expect(schema.required).toEqual(["filter_x_2"]);
      expect(schema.description).toBe("Give one of these: post_ids; or filter_x.");
      expect(JSON.stringify(schema)).not.toContain("a/b");
    },
  );

  it("get the arguments of a call under their own keys", () => {
    const { restore } = fitSchema({ inputSchema });
    expect(restore({ filter_x_2: "1", filter_x: "2", post_ids: [{ a_b: 3 }] })).toEqual({
      "filter[x]": "1",
      filter_x: "2",
      "post_ids[]": [{ "a/b": 3 }],
    });
  });

  it("are the tool's own in the call that the loop makes", async () => {
    const call = { ...CALL, function: { name: "t", arguments: '{"filter_x_2":"1"}' } };
    const { url } = await streaming([chunk({ tool_calls: [call] }, "tool_calls")]);
    const tools = [{ name: "t", description: "T.", inputSchema }];
    const { parts } = await modelOf({ url }).generate({ ...REQUEST, tools }, never);
    expect(parts).toMatchObject([{ type: "tool-call", args: { "filter[x]": "1" } }]);
  });

  it("come back as they were, whatever the keys are", () => {
    const key = fc.string({ unit: "binary", minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(fc.uniqueArray(key, { minLength: 1, maxLength: 8 }), (keys) => {
        const properties = Object.fromEntries(keys.map((each) => [each, { type: "string" }]));
        const safe = SafeKeys.of({ type: "object", properties, required: keys });
        const shown = (safe?.schema ?? { properties })["properties"] as object;
        const names = Object.keys(shown);
        expect(names.every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name))).toBe(true);
        expect(new Set(names).size).toBe(keys.length);
        const value = Object.fromEntries(names.map((name) => [name, "x"]));
        expect(Object.keys(safe?.restore(value) ?? value).toSorted()).toEqual(keys.toSorted());
      }),
    );
  });

  it.each([
    [
      "allOf",
      {
        allOf: [{ properties: { a: {} }, required: ["a"] }, { $ref: "#/$defs/b" }],
        $defs: { b: { properties: { b: {} }, required: ["b"] } },
      },
      ["a", "b"],
      ["a", "b"],
    ],
    [
      "oneOf within allOf",
      {
        allOf: [
          {
            oneOf: [
              { properties: { a: {} }, required: ["a"] },
              { properties: { a: {}, b: {} }, required: ["a", "b"] },
            ],
          },
        ],
      },
      ["a", "b"],
      ["a"],
    ],
    ["enum", { enum: [{ a: 1 }], properties: { a: {} } }, ["a"], []],
  ])("are folded: %s", (_what, schema, keys, required) => {
    const { schema: folded } = fitSchema({ inputSchema: schema });
    expect(Object.keys(folded["properties"] as object)).toEqual(keys);
    expect(folded["required"] ?? []).toEqual(required);
    expect(folded).toMatchObject({ type: "object" });
  });

  it("are folded in bounded time where all refer to all", () => {
    const all = Array.from({ length: 100 }, (_, index) => ({ $ref: `#/$defs/d${index}` }));
    const $defs = Object.fromEntries(all.map((_, index) => [`d${index}`, { anyOf: all }]));
    expect(fitSchema({ inputSchema: { anyOf: all, $defs } }).schema).not.toHaveProperty("anyOf");
  });

  it("are counted before they are sent: OpenAI takes 128", async () => {
    const server = await start([{ text: "Yes." }, { text: "Yes." }]);
    const tools = Array.from({ length: 129 }, (_, index) => ({
      name: `t${index}`,
      description: "T.",
      inputSchema: { type: "object" },
    }));
    const ask = (options: object, count: number): Promise<ModelReply> =>
      modelOf(server, { type: "openai", apiKey: "k", ...options }).generate(
        { ...REQUEST, tools: tools.slice(0, count) },
        never,
      );
    await expect(ask({}, 129)).rejects.toThrow(
      'The agent has 129 tools, and provider "p" takes at most 128 in one request.',
    );
    expect(server.requests).toHaveLength(0);
    await ask({}, 128);
    await ask({ maxTools: 200 }, 129);
    expect(server.requests).toHaveLength(2);
  });
});

describe("bugs-rest 6: what a model thought before its calls", () => {
  it.each(["reasoning_content", "reasoning"])("goes back to it within the run: %s", async (key) => {
    const { url, bodies } = await streaming(
      [
        chunk({ [key]: "I should " }),
        chunk({ [key]: "read it." }),
        chunk({ tool_calls: [CALL] }, "tool_calls"),
      ],
      [chunk({ content: "Done." }, "stop")],
    );
    const { result } = await run({ model: modelOf({ url }) });
    expect(bodies[1]!["messages"]).toMatchObject([
      {},
      {},
      { role: "assistant", reasoning_content: "I should read it.", tool_calls: [{ id: "c1" }] },
      { role: "tool" },
    ]);
    expect(result.parts).toEqual([{ type: "text", text: "Done." }]);
  });
});

describe("bugs-rest 13: answers without words", () => {
  it.each([
    [
      "a refusal",
      [chunk({ refusal: "I cannot " }), chunk({ refusal: "help." }, "stop")],
      "I cannot help.",
    ],
    [
      "reasoning alone",
      [chunk({ content: null, reasoning_content: "Hm." }, "stop")],
      "[The model thought, and gave no answer.]",
    ],
    [
      "a thought alone, as text",
      [chunk({ content: "<think>Hm." }, "stop")],
      "[The model thought, and gave no answer.]",
    ],
    [
      "a thought before the answer",
      [
        chunk({ content: "\n<thi" }),
        chunk({ content: "nk>Hm.</thin" }),
        chunk({ content: "k>\n\nYes" }),
        chunk({ content: "." }, "stop"),
      ],
      "Yes.",
    ],
    [
      "a mark that is none",
      [chunk({ content: "<thin" }), chunk({ content: " air>" }, "stop")],
      "<thin air>",
    ],
    [
      "a mark in the middle",
      [chunk({ content: "Write <think>x</think>." }, "stop")],
      "Write <think>x</think>.",
    ],
    ["the beginning of a mark", [chunk({ content: "<th" }, "stop")], "<th"],
  ])("%s", async (_what, chunks, text) => {
    const { url } = await streaming(chunks);
    const deltas: string[] = [];
    const { result } = await run({ model: modelOf({ url }) });
    expect(result.parts).toEqual([{ type: "text", text }]);
    await modelOf({ url }).generate({ ...REQUEST, onText: (delta) => deltas.push(delta) }, never);
    expect(deltas.join("")).toBe(text.startsWith("[") ? "" : text);
  });

  it("of one thought in pieces of any size leave the same answer", () => {
    const text = " <think>a < b </thin k></think>\n\nThe <think> answer.";
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 30 }), (sizes) => {
        const cut = new ThoughtCut();
        let at = 0;
        let answer = "";
        for (const size of sizes) answer += cut.push(text.slice(at, (at += size)));
        answer += cut.push(text.slice(at)) + cut.end();
        expect(answer).toBe("The <think> answer.");
      }),
    );
  });

  it.each([null, undefined])("arguments that are %j are an empty map", async (args) => {
    const call = {
      ...CALL,
      function: { name: "files__read", ...(args !== undefined && { arguments: args }) },
    };
    const { url } = await streaming(
      [chunk({ tool_calls: [call] }, "tool_calls")],
      [chunk({ content: "Done." }, "stop")],
    );
    const { result, calls } = await run({ model: modelOf({ url }) });
    expect(calls.map(({ args: given }) => given)).toEqual([{}]);
    expect(result.parts).toEqual([{ type: "text", text: "Done." }]);
  });
});
