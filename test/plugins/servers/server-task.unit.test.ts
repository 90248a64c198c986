import fc from "fast-check";
import { Answer, type Json, GatewayError, isGatewayError } from "propylon";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ServerTask, type TaskLink } from "../../../plugins/servers/connection/server-task.ts";
import { makeCall, makePeer } from "./support/calls.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What a server may say when it is asked for its task, in any order. */
const told = fc.oneof(
  fc.constant("away" as const),
  fc.record(
    {
      taskId: fc.constantFrom("t", "t", "t", "other"),
      status: fc.oneof(
        fc.constantFrom("working", "input_required", "completed", "failed", "cancelled"),
        fc.string({ maxLength: 5 }),
      ),
      statusMessage: fc.oneof(fc.string({ maxLength: 5 }), fc.integer()),
      pollIntervalMs: fc.oneof(fc.integer({ min: -1, max: 100_000 }), fc.double(), fc.string()),
      result: fc.oneof(fc.constant({ content: [] }), fc.jsonValue()),
      error: fc.oneof(fc.constant({ code: -32_603, message: "broken" }), fc.jsonValue()),
      inputRequests: fc.oneof(
        fc.dictionary(
          fc.constantFrom("a", "b", "__proto__"),
          fc.constantFrom({ method: "elicitation/create" }, { method: "tools/call" }, 7),
        ),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: ["taskId", "status"] },
  ),
);

it("whatever a server says of its task, in whatever order, its call ends once, and no key is asked twice", async () => {
  const ends = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(told, { maxLength: 12 }), fc.boolean(), async (script, isLegacy) => {
      const asked: string[] = [];
      let at = 0;
      const over = new AbortController();
      const link: TaskLink = {
        isLegacy,
        ask: (method, params) => {
          if (method === "tasks/update")
            asked.push(...Object.keys(params["inputResponses"] as Json));
          if (method !== "tasks/get") return Promise.resolve(Answer.result({}));
          const next = script[at++];
          // It says no more: the caller's time is over one day.
          if (next === undefined) over.abort(new GatewayError("timeout", "late"));
          if (next === undefined || next === "away")
            return Promise.reject(new GatewayError("upstream_error", "away"));
          return Promise.resolve(Answer.result(next));
        },
        result: () => Promise.resolve(Answer.result({ content: [] })),
      };
      const peer = makePeer({ ask: () => Promise.resolve({ action: "accept" }) });
      const task = new ServerTask(makeCall("long", {}, { peer, signal: over.signal }), "t", link);
      const outcome = task.follow({}).then(
        () => "answer",
        (error: unknown) => (isGatewayError(error) ? error.code : "crash"),
      );
      await vi.advanceTimersByTimeAsync(3_600_000);
      const end = await outcome;
      ends.add(end);
      expect(["answer", "upstream_error", "timeout"]).toContain(end);
      expect(new Set(asked).size).toBe(asked.length);
    }),
    { numRuns: 500 },
  );
  expect(ends).toEqual(new Set(["answer", "upstream_error", "timeout"]));
});
