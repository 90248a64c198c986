import { describe, expect, it } from "vitest";
import type { Progress } from "../../../core/index.ts";
import type { AgentEvent } from "../../../plugins/progress/service.ts";
import { Reporter } from "../../../plugins/progress/reporter.ts";

const RUN: AgentEvent[] = [
  { type: "step", step: 1, kind: "llm" },
  { type: "step", step: 1, kind: "tool" },
  { type: "tool", server: "argos", tool: "search", state: "started" },
  { type: "tool", server: "neo4j", tool: "query", state: "started" },
  { type: "relayed", server: "argos", tool: "search", message: "half way", progress: 5, total: 10 },
  { type: "relayed", server: "argos", tool: "search", message: "web/get: started", progress: 6 },
  {
    type: "relayed",
    server: "argos",
    tool: "search",
    message: "web/get: completed",
    progress: 7,
    total: 7,
  },
  { type: "tool", server: "neo4j", tool: "query", state: "failed" },
  { type: "tool", server: "argos", tool: "search", state: "completed" },
  { type: "text", text: "Let me", delta: true },
];

function report(options: Partial<ConstructorParameters<typeof Reporter>[2]> = {}): Progress[] {
  const sent: Progress[] = [];
  const reporter = new Reporter("harper", (each) => void sent.push(each), {
    mode: "strict",
    loop: true,
    text: false,
    ...options,
  });
  for (const event of RUN) reporter.report(event);
  return sent;
}

describe("Reporter", () => {
  it("P106-P110, C24: says it in the words of the source; P106 P107 P108 P109 P110", () => {
    expect(report().map(({ message }) => message)).toEqual([
      "harper step 1 (llm)",
      "harper step 1 (tool)",
      "argos/search: started",
      "neo4j/query: started",
      "argos/search: half way",
      "web/get: started",
      "web/get: completed",
      "neo4j/query: failed",
      "argos/search: completed",
    ]);
  });

  it("C22: counts in strict mode, and marks the end of each tool by total == progress", () => {
    expect(report().map(({ progress, total }) => [progress, total])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, undefined],
      [4, undefined],
      [5, undefined],
      [6, undefined],
      [7, 7],
      [8, 8],
      [9, 9],
    ]);
  });

  it("P118: the literal values in compat mode: 0 for a start, 1/1 for an end, nested ones too", () => {
    const tools = report({ mode: "compat", loop: false });
    expect(tools.map(({ progress, total, message }) => [message, progress, total])).toEqual([
      ["argos/search: started", 0, undefined],
      ["neo4j/query: started", 0, undefined],
      ["argos/search: half way", 5, 10],
      ["web/get: started", 0, undefined],
      ["web/get: completed", 1, 1],
      ["neo4j/query: failed", 1, 1],
      ["argos/search: completed", 1, 1],
    ]);
  });

  it("P119: turns can be left out", () => {
    expect(report({ loop: false }).map(({ message }) => message)).not.toContainEqual(
      expect.stringMatching(/step/),
    );
  });

  it("P121, P122: text of the model only where it is asked for, with a prefix", () => {
    expect(report().map(({ message }) => message)).not.toContainEqual(
      expect.stringMatching(/Let me/),
    );
    expect(report({ text: true }).at(-1)!.message).toBe("harper says: Let me");
  });
});
