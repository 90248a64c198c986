import { expect, it } from "vitest";
import { createPrincipal } from "../../../core/kit.ts";
import { ManagedAgent } from "../../../plugins/lifecycle/record/agent.ts";
import { Roster } from "../../../plugins/lifecycle/record/roster.ts";

const LIMITS = { maxAgents: 1_000, ttl: 3_600_000, maxSize: 1_000_000 };

/** A roster, and the contracts of what it dropped. */
function createRoster() {
  const dropped: string[] = [];
  const roster = new Roster(({ contract }) => dropped.push(contract));
  const end = (owner: string, contract: string): void => {
    const principal = createPrincipal({ id: owner, kind: "user", roles: new Set() });
    const agent = new ManagedAgent({ contract, name: "coder", owner: principal, output: 100 });
    roster.add(agent);
    const endedAt = new Date().toISOString();
    agent.settle({ end: { status: "completed", summary: "" }, endedAt });
    roster.end(agent);
  };
  return { roster, dropped, end };
}

it.each([
  ["number", { ...LIMITS, maxAgents: 4 }],
  ["bytes", { ...LIMITS, maxSize: 4 }],
])("agents that ended make way by %s: the oldest of whoever has most", (_, limits) => {
  const { roster, dropped, end } = createRoster();
  end("ann", "a");
  end("ben", "b");
  for (const contract of ["1", "2", "3", "4", "5"]) {
    end("cem", contract);
    roster.sweep(limits);
  }
  expect(dropped).toEqual(["1", "2", "3"]);
  for (const contract of ["c", "d", "e"]) {
    end("ann", contract);
    roster.sweep(limits);
  }
  expect(dropped).toEqual(["1", "2", "3", "a", "4", "c"]);
});

it("one whose bytes are beyond the bound by itself goes, and the count is right after it", () => {
  const { roster, dropped, end } = createRoster();
  end("ann", "x".repeat(50));
  roster.sweep({ ...LIMITS, maxSize: 10 });
  end("ann", "b");
  roster.sweep({ ...LIMITS, maxSize: 10 });
  expect(dropped).toEqual(["x".repeat(50)]);
});
