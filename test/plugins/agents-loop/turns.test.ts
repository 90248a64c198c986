import type { AgentEvent } from "../../../plugins/progress/service.ts";
import { GatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import { Toolbox } from "../../../plugins/agents/loop/toolbox.ts";
import type { RunTool } from "../../../plugins/agents/service.ts";
import { answer, modelOf, resultsIn, run, start, tool, user } from "./start.ts";

const READ = { name: "files__read", args: { path: "/x" } };

/** Events in short. */
function brief(events: readonly AgentEvent[]): string[] {
  return events.map((event) => {
    if (event.type === "step") return `step ${event.step} (${event.kind})`;
    if (event.type === "text") return `text ${event.text}`;
    return `${event.server}/${event.tool} ${event.type === "tool" ? event.state : event.message}`;
  });
}

describe("turns", () => {
  it("runs tool calls and gives their results back until the model is done", async () => {
    const list = { name: "files__list", args: { path: "/" }, id: "a" };
    const server = await start([
      { text: "Looking.", calls: [list, { ...READ, id: "b" }] },
      { text: "All done.", usage: { input: 40, output: 2 } },
    ]);
    const { result, calls } = await run({ model: modelOf(server) });
    expect(result).toMatchObject({ end: "finished", text: "All done.", turns: 2 });
    expect(result.usage).toEqual({ inputTokens: 50, outputTokens: 7 });
    expect(calls).toMatchObject([
      { server: "files", name: "list", args: { path: "/" } },
      { server: "files", name: "read", args: { path: "/x" } },
    ]);
    expect(server.requests[0]!.body["messages"]).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Go." },
    ]);
    expect(server.requests[1]!.body["messages"]).toMatchObject([
      { role: "system" },
      { role: "user" },
      { role: "assistant", content: "Looking.", tool_calls: [{ id: "a" }, { id: "b" }] },
      { role: "tool", tool_call_id: "a", content: 'list {"path":"/"}' },
      { role: "tool", tool_call_id: "b", content: 'read {"path":"/x"}' },
    ]);
  });

  it("P118: reports start and end of every tool call, and P116: needs nothing configured for it", async () => {
    const server = await start([{ text: "Looking.", calls: [READ] }, { text: "Done." }]);
    const { events } = await run({ model: modelOf(server) });
    expect(brief(events)).toEqual([
      "step 1 (llm)",
      "text Looking.",
      "step 2 (tool)",
      "files/read started",
      "files/read completed",
      "step 3 (llm)",
      "text Done.",
    ]);
  });

  it("P118: reports the end of a tool call that failed, with its reason", async () => {
    const server = await start([{ calls: [READ, READ] }, { text: "Done." }]);
    const outcomes = [
      () => Promise.resolve(answer("No such file.\nat line 3", { isError: true })),
      () => Promise.reject(new GatewayError("disabled", "Tool read is disabled.")),
    ];
    const { events } = await run({ model: modelOf(server), call: () => outcomes.shift()!() });
    const failed = events.filter((event) => event.type === "tool" && event.state === "failed");
    const reasons = failed.map((event) => "message" in event && event.message);
    expect(new Set(reasons)).toEqual(new Set(["No such file.", "Tool read is disabled."]));
  });

  it("P120: a listener that fails does not disturb the run", async () => {
    const server = await start([{ calls: [READ] }, { text: "Done." }]);
    const onEvent = (): never => {
      throw new Error("gone");
    };
    const { result } = await run({ model: modelOf(server), onEvent });
    expect(result).toMatchObject({ end: "finished", text: "Done." });
  });

  it("relays what a tool reports while it runs, and nothing after its end", async () => {
    const server = await start([{ calls: [READ] }, { text: "Done." }]);
    const { events } = await run({
      model: modelOf(server),
      call: async ({ progress }) => {
        progress?.({ progress: 1, message: "half" });
        setImmediate(() => progress?.({ progress: 2, message: "late" }));
        return answer("ok");
      },
    });
    expect(brief(events)).toContain("files/read half");
    expect(brief(events)).not.toContain("files/read late");
  });

  it("passes text on as it is written, where that is wanted", async () => {
    const server = await start([{ text: "one two" }]);
    const { events, result } = await run({ model: modelOf(server), deltas: true });
    expect(events).toEqual([
      { type: "step", step: 1, kind: "llm" },
      { type: "text", text: "one ", delta: true },
      { type: "text", text: "two", delta: true },
    ]);
    expect(result.text).toBe("one two");
  });

  it("runs as many tool calls at once as allowed, and answers them in order", async () => {
    const numbers = [1, 2, 3, 4, 5];
    const server = await start([
      { calls: numbers.map((path) => ({ ...READ, args: { path } })) },
      { text: "Done." },
    ]);
    let running = 0;
    let peak = 0;
    const { result } = await run({
      model: modelOf(server),
      limits: { parallel: 2 },
      call: async ({ args }) => {
        peak = Math.max(peak, ++running);
        // The later ones are quicker.
        for (let turn = Number(args["path"]); turn < 6; turn++) await new Promise(setImmediate);
        running--;
        return answer(`read ${String(args["path"])}`);
      },
    });
    expect(peak).toBe(2);
    const texts = resultsIn(result.messages).map(({ parts }) => parts[0]);
    expect(texts).toEqual(numbers.map((path) => ({ type: "text", text: `read ${path}` })));
  });
});

describe("what models get wrong", () => {
  it("an unknown tool is told with those there are, and called nowhere", async () => {
    const server = await start([{ calls: [{ name: "files__write" }] }, { text: "Done." }]);
    const { calls, events } = await run({ model: modelOf(server) });
    expect(calls).toEqual([]);
    expect(server.requests[1]!.results).toEqual([
      'There is no tool "files__write". Tools: files__read, files__list.',
    ]);
    expect(events.filter(({ type }) => type === "tool")).toEqual([]);
  });

  it("broken arguments are told, and called nowhere", async () => {
    const server = await start([
      { calls: [{ name: READ.name, args: '{"path"' }] },
      { text: "Done." },
    ]);
    const { calls } = await run({ model: modelOf(server) });
    expect(calls).toEqual([]);
    expect(server.requests[1]!.results).toEqual([
      "The arguments are invalid JSON. Call again with one JSON object.",
    ]);
  });

  it("ids given twice are made different, in one turn and over several", async () => {
    const twice = {
      calls: [
        { ...READ, id: "call_0" },
        { ...READ, id: "call_0" },
      ],
    };
    const server = await start([twice, twice, { text: "Done." }]);
    const { result } = await run({ model: modelOf(server) });
    const ids = resultsIn(result.messages).map(({ id }) => id);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
    expect(ids[0]).toBe("call_0");
  });

  it.each(["", "a"])(
    "issue line 6: two calls with the id %j run once each, with their own arguments",
    async (id) => {
      const calls = ["a.txt", "b.txt"].map((path) => ({ ...READ, args: { path }, id }));
      const server = await start([{ calls }, { text: "Done." }]);
      const made = await run({ model: modelOf(server) });
      expect(made.calls.map(({ args }) => args)).toEqual([{ path: "a.txt" }, { path: "b.txt" }]);
      const told = resultsIn(made.result.messages);
      expect(new Set(told.map((each) => each.id)).size).toBe(2);
    },
  );

  it("a refusal without a word gets one", async () => {
    const server = await start([{ finish: "content_filter" }]);
    const { result } = await run({ model: modelOf(server) });
    expect(result).toMatchObject({ end: "finished", text: "[The model refused to answer.]" });
  });
});

describe("tools of one run", () => {
  const complete: RunTool = {
    name: "agent_complete",
    description: "Ends it.",
    inputSchema: { type: "object" },
    run: ({ result }) => `Noted: ${String(result)}`,
  };

  it("are run here, beside those of servers", async () => {
    const server = await start([
      { calls: [READ, { name: "agent_complete", args: { result: 7 } }] },
      { text: "Done." },
    ]);
    const toolbox = new Toolbox([tool("files", "read")], [complete]);
    const { calls } = await run({ model: modelOf(server), toolbox });
    expect(calls).toHaveLength(1);
    expect(server.requests[0]!.tools.map(({ name }) => name)).toEqual([
      "agent_complete",
      "files__read",
    ]);
    expect(server.requests[1]!.results).toEqual(['read {"path":"/x"}', "Noted: 7"]);
  });

  it("tell the model why they refused", async () => {
    const server = await start([{ calls: [{ name: "agent_complete" }] }, { text: "Done." }]);
    const refuse = (): never => {
      throw new GatewayError("invalid", "A result is missing.");
    };
    const toolbox = new Toolbox([], [{ ...complete, run: refuse }]);
    await run({ model: modelOf(server), toolbox });
    expect(server.requests[1]!.results).toEqual(["Error (invalid): A result is missing."]);
  });
});

it("keeps nothing from one run for the next, even where both run at once", async () => {
  const server = await start(async ({ text, turn }) =>
    turn === 0 ? { calls: [{ ...READ, args: { path: text } }] } : { text: `Done with ${text}` },
  );
  const model = modelOf(server);
  const toolbox = new Toolbox([tool("files", "read")]);
  const names = Array.from({ length: 20 }, (_, index) => `secret-${index}.`);
  const runs = await Promise.all(
    names.map((name) => run({ model, toolbox, messages: [user(name)] })),
  );
  for (const [index, { result }] of runs.entries()) {
    const said = JSON.stringify(result.messages);
    expect(result.text).toBe(`Done with ${names[index]}`);
    expect(names.filter((name) => said.includes(name))).toEqual([names[index]]);
  }
  for (const { body } of server.requests) {
    const sent = JSON.stringify(body);
    expect(names.filter((name) => sent.includes(name))).toHaveLength(1);
  }
});
