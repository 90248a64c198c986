import fc from "fast-check";
import type { AgentEvent } from "../../../plugins/progress/service.ts";
import { describeModelFailure } from "../../../plugins/agents/models/failure.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { nameForModel, Toolbox } from "../../../plugins/agents/loop/toolbox.ts";
import { cutText } from "../../../plugins/agents/loop/outcome.ts";
import { waitBefore } from "../../../plugins/agents/models/retries.ts";
import { play, problemsOf, script } from "./play.ts";
import { tool } from "./start.ts";

/** Calls of tools that began and did not end, at each moment; below zero: ended without a beginning. */
function openCalls(events: readonly AgentEvent[], server: string, name: string): number[] {
  let open = 0;
  return events.flatMap((event) => {
    if (event.type !== "tool" || event.server !== server || event.tool !== name) return [];
    open += event.state === "started" ? 1 : -1;
    return [open];
  });
}

describe("any run", () => {
  it("pairs every tool call with one result, in order, at every request", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (value) => {
        const { result, asked } = await play(value);
        expect(asked.flatMap(({ request }) => problemsOf(request.messages))).toEqual([]);
        expect(problemsOf(result.messages)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("stays within its budgets and says when one ended it", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (value) => {
        const { result, asked, called, peak } = await play(value);
        const { turns, toolCalls, tokens = Infinity, outputTokens = Infinity } = value.limits;
        expect(asked.length).toBeLessThanOrEqual(turns ?? Infinity);
        expect(called).toBeLessThanOrEqual(toolCalls ?? Infinity);
        expect(peak).toBeLessThanOrEqual(value.parallel);
        expect(result.turns).toBe(asked.length);
        for (const { request, spent } of asked) {
          expect(spent).toBeLessThan(tokens);
          const bound = Math.min(outputTokens, tokens - spent);
          expect(request.maxOutputTokens ?? Infinity).toBe(bound);
        }
        const byBudget = result.end !== "finished" && result.end !== "prevented";
        expect(result.text.includes("[Stopped before the task was done")).toBe(byBudget);
      }),
      { numRuns: 300 },
    );
  });

  it("makes no request once it may not continue", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (value) => {
        const { result, asked, isStopped } = await play(value);
        expect(asked.filter((one) => one.isStopped)).toEqual([]);
        expect(isStopped || result.end !== "prevented").toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("P118: reports a start and an end for each call of a tool, and numbers its steps", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (value) => {
        const { events, called, asked } = await play(value);
        const steps = events.filter((event) => event.type === "step");
        expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1));
        expect(steps.filter(({ kind }) => kind === "llm")).toHaveLength(asked.length);
        for (const open of [
          openCalls(events, "files", "read"),
          openCalls(events, "files", "list"),
        ]) {
          expect(Math.min(0, ...open)).toBe(0);
          expect(open.at(-1) ?? 0).toBe(0);
        }
        const started = events.filter(
          (event) => event.type === "tool" && event.state === "started",
        );
        expect(started).toHaveLength(called);
      }),
      { numRuns: 300 },
    );
  });
});

describe("names of tools", () => {
  it("fit every provider, are unique, and lead back to where they came from", () => {
    const names = fc.uniqueArray(
      fc.tuple(
        fc.constantFrom("files", "files_", "a.b", "a-b", "x".repeat(70)),
        fc.oneof(
          fc.string({ unit: "grapheme" }),
          fc.constantFrom("read", "_read", "re ad", "re.ad", "y".repeat(64)),
        ),
      ),
      { selector: ([server, name]) => JSON.stringify([server, name]), maxLength: 12 },
    );
    fc.assert(
      fc.property(names, (pairs) => {
        const { tools, find } = asFunctions(
          new Toolbox(pairs.map(([server, name]) => tool(server, name))),
        );
        expect(new Set(tools.map(({ name }) => name)).size).toBe(pairs.length);
        for (const [index, { name }] of tools.entries()) {
          expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(find(name)).toEqual({ server: pairs[index]![0], tool: pairs[index]![1] });
        }
      }),
    );
  });

  it("stay as they are where they fit", () => {
    expect(nameForModel("files__read-me", () => false)).toBe("files__read-me");
    expect(nameForModel("files__read.me", () => false)).toBe("files__read_me");
  });

  it("lets a tool of the run have its name before tools of servers", () => {
    const own = { name: "a__b", description: "", inputSchema: {}, run: () => "" };
    const [first, second] = new Toolbox([tool("a", "b")], [own]).tools;
    expect(first!.name).toBe("a__b");
    expect(second!.name).toMatch(/^a__b_[0-9a-f]{8}$/);
  });
});

function asFunctions(box: Toolbox) {
  return { tools: box.tools, find: (name: string) => box.find(name) };
}

describe("cut texts", () => {
  it("keep the beginning, no more than allowed, and well-formed", () => {
    const texts = fc.array(fc.string({ unit: "grapheme" }), { minLength: 2 });
    fc.assert(
      fc.property(texts, fc.double({ min: 0, max: 0.99, noNaN: true }), (pieces, share) => {
        const all = pieces.join("");
        fc.pre(all !== "");
        const limit = Math.floor(all.length * share);
        const parts = cutText(pieces.map(toPart), limit);
        const kept = parts.map((part) => (part.type === "text" ? part.text : ""));
        expect(kept.pop()).toContain(`${all.length} characters in all`);
        expect(kept.join("").length).toBeLessThanOrEqual(limit);
        expect(all.startsWith(kept.join(""))).toBe(true);
        expect(Buffer.from(kept.join("")).toString()).toBe(kept.join(""));
      }),
    );
  });

  it("are left alone where they fit", () => {
    const texts = fc.array(fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(texts, fc.nat(10), (pieces, spare) => {
        const parts = pieces.map(toPart);
        expect(cutText(parts, pieces.join("").length + spare)).toBe(parts);
      }),
    );
  });
});

function toPart(text: string): { type: "text"; text: string } {
  return { type: "text", text };
}

describe("waits before retries", () => {
  const policy = fc.record({
    retries: fc.nat(10),
    backoff: fc.nat(10_000),
    maxWait: fc.nat(60_000),
  });
  const asked = fc.option(fc.nat(120_000), { nil: undefined });
  const random = fc.double({ min: 0, max: 1, noNaN: true });

  it("are as often as configured, as long as asked, and never longer than allowed", () => {
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 12 }), asked, random, (...given) => {
        const [bounds, attempt, floor = 0] = given;
        const wait = waitBefore(attempt, bounds, given[2], given[3]);
        const none = attempt > bounds.retries || floor > bounds.maxWait;
        expect(wait === undefined).toBe(none);
        expect(wait ?? floor).toBeGreaterThanOrEqual(floor);
        expect(wait ?? 0).toBeLessThanOrEqual(bounds.maxWait * 1.1);
      }),
    );
  });

  it("double each time", () => {
    const bounds = { retries: 9, backoff: 100, maxWait: 1_000 };
    const waits = [1, 2, 3, 4, 5, 6].map((attempt) => waitBefore(attempt, bounds, undefined, 1));
    expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(waitBefore(3, bounds, undefined, 0)).toBe(200);
  });

  afterEach(() => void vi.useRealTimers());

  it.each([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after": new Date(61_000).toUTCString() }, 60_000],
    [{ "retry-after": new Date(0).toUTCString() }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{ "retry-after": "2000000" }, 2_000_000_000],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9_000],
    [{}, undefined],
  ])("read %j", (responseHeaders, wait) => {
    vi.setSystemTime(1_000);
    const refused = Object.assign(new Error("busy"), { name: "AI_APICallError", statusCode: 429 });
    const whose = { provider: "p", type: "openai", model: "m", secrets: [] };
    const { retryAfter } = describeModelFailure(Object.assign(refused, { responseHeaders }), whose);
    expect(retryAfter).toBe(wait);
  });
});
