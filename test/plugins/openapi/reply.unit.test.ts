import { Answer } from "propylon";
import { describe, expect, it } from "vitest";
import { prefersEvents } from "../../../core/internal.ts";
import { failureOf, renderResult } from "../../../plugins/openapi/call/reply.ts";

describe("failures", () => {
  it.each([
    [-32602, 422, "invalid"],
    [-32002, 404, "not_found"],
    [-32001, 504, "timeout"],
    [-32601, 502, "upstream_error"],
    [-32603, 502, "upstream_error"],
    [-32000, 502, "upstream_error"],
    [42, 502, "upstream_error"],
  ])("JSON-RPC error %d becomes %d %s and stays readable", (code, status, ours) => {
    const failure = failureOf(Answer.error({ code, message: "no", data: { why: 1 } }));
    expect(failure).toMatchObject({
      status,
      code: ours,
      message: "no",
      data: { rpc: { code, data: { why: 1 } } },
    });
  });

  it("a question to the user is refused with the way to answer it", () => {
    const failure = failureOf(Answer.result({ resultType: "input_required", inputRequests: {} }));
    expect(failure).toMatchObject({ code: "invalid", hint: "Call this tool over MCP." });
  });

  it("a tool's failure without words has some, and one with too many is cut", () => {
    const failing = (content: unknown) => failureOf(Answer.result({ isError: true, content }));
    expect(failing([])).toMatchObject({ code: "upstream_error", message: "The tool failed." });
    expect(failing(undefined)).toMatchObject({ message: "The tool failed." });
    const long = failing([{ type: "text", text: "x".repeat(10_000) }])!;
    expect(long.message.length).toBeLessThan(2_100);
  });

  it("a result is none", () => {
    expect(failureOf(Answer.result({ content: [] }))).toBeUndefined();
  });

  it("a result that cannot be written is the server's fault", () => {
    let deep: unknown = 0;
    for (let level = 0; level < 200_000; level++) deep = [deep];
    expect(() => renderResult({ structuredContent: deep }, "raw")).toThrow(
      expect.objectContaining({ code: "upstream_error" }),
    );
  });
});

describe("which answer is preferred", () => {
  it.each([
    [null, false],
    ["*/*", false],
    ["application/json", false],
    ["text/event-stream", true],
    ["Text/Event-Stream, */*", true],
    // What every MCP client sends.
    ["application/json, text/event-stream", false],
    ["text/event-stream, application/json", true],
    ["application/json;q=0.5, text/event-stream", true],
    ["text/event-stream;q=0.1, application/json;q=0.2", false],
    ["text/event-stream;q=0", false],
    ["text/event-stream;q=x", false],
  ])("%j: events %j", (accept, events) => {
    expect(prefersEvents(accept)).toBe(events);
  });
});
