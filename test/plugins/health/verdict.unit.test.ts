import { describe, expect, it } from "vitest";
import type { ServerHealth } from "../../../plugins/health/service.ts";
import { judge, type Facts } from "../../../plugins/health/verdict.ts";
import { describeSlowness } from "../../../plugins/health/words.ts";

const checkedAt = "2026-03-12T15:42:00Z";
const up = (server: string): ServerHealth => ({ server, reachable: true, checkedAt });
const down = (server: string, reason: string): ServerHealth => ({
  ...up(server),
  reachable: false,
  reason,
});
const facts = (parts: Partial<Facts>): Facts => ({ servers: [], agents: [], models: [], ...parts });

describe("the verdict", () => {
  it("P057: is no more than status and time when all is well", () => {
    expect(judge(facts({ servers: [up("Argos")] }), "error")).toEqual({
      status: "ok",
      timestamp: checkedAt,
    });
  });

  it("P058: says of a slow server what the source says", () => {
    const reason = describeSlowness("Neo4j", 12_000);
    expect(reason).toBe("Avg response 12s — Neo4j connection slow");
    const slow = { ...up("Neo4j"), failed: "slow" as const, reason };
    expect(judge(facts({ servers: [up("Argos"), slow] }), "error")).toEqual({
      status: "degraded",
      timestamp: checkedAt,
      message: "Avg response 12s — Neo4j connection slow",
    });
  });

  it("P059: names the server that is not there", () => {
    const servers = [down("Argos", 'Server "Argos" cannot be used: the connection was refused.')];
    expect(judge(facts({ servers }), "error")).toEqual({
      status: "error",
      timestamp: checkedAt,
      message: "Argos MCP server unreachable: the connection was refused",
    });
  });

  it("P051: is as old as its oldest fact", () => {
    const servers = [up("a"), { ...up("b"), checkedAt: "2026-03-12T15:41:00Z" }];
    expect(judge(facts({ servers }), "error").timestamp).toBe("2026-03-12T15:41:00Z");
  });

  it("P072: a failed provider alone is degraded, and said once for agents that share it", () => {
    const model = { provider: "openai", model: "gpt-5", status: "error", checkedAt } as const;
    const models = [
      { ...model, message: "It wants a key." },
      { ...model, message: "It wants a key." },
    ];
    expect(judge(facts({ models }), "error")).toEqual({
      status: "degraded",
      timestamp: checkedAt,
      message: "LLM provider of openai/gpt-5 failed its check: It wants a key",
    });
  });

  it("P070: a provider that is not asked is no reason to worry", () => {
    const models = [{ provider: "own", model: "m", status: "unknown", checkedAt } as const];
    expect(judge(facts({ models }), "error").status).toBe("ok");
  });

  it("P073: a problem of the agent itself comes before everything else", () => {
    const servers = [down("Argos", "gone")];
    expect(judge(facts({ problem: "No instructions.", servers }), "degraded")).toMatchObject({
      status: "error",
      message: "No instructions.",
    });
  });
});
