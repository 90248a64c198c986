import { describe, expect, it } from "vitest";
import { modelOf, run, start } from "./start.ts";

describe("turns", () => {
  it("runs tool calls and gives their results back until the model is done", async () => {
    const server = await start([
      {
        text: "Looking.",
        calls: [
          { name: "files__list", args: { path: "/" }, id: "a" },
          { name: "files__read", args: { path: "/x" }, id: "b" },
        ],
      },
      { text: "All done.", usage: { input: 40, output: 2 } },
    ]);
    const { result, events } = await run({ model: modelOf(server) });
    expect(result).toMatchObject({ end: "finished", text: "All done.", turns: 2 });
    expect(result.usage).toEqual({ inputTokens: 50, outputTokens: 7 });
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
    expect(
      events.map((event) => ("step" in event ? `${event.step} ${event.kind}` : event.type)),
    ).toEqual(["1 llm", "text", "2 tool", "tool", "tool", "tool", "tool", "3 llm", "text"]);
  });
});
