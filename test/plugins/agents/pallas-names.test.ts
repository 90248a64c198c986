import { expect, it } from "vitest";
import { usableNames } from "../../../plugins/agents/pallas/names.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

it("line 5: 20,000 names that are alike once they are usable take no longer than others", () => {
  // Each is another name of the deployment, and "a-" for a gateway.
  const names = Array.from({ length: 20_000 }, (_, at) => `a${String.fromCodePoint(0x4e00 + at)}`);
  const notes: string[] = [];
  const begin = performance.now();
  const given = usableNames("server", Object.fromEntries(names.map((name) => [name, {}])), notes);
  // With the next number tried for each: 20 s.
  expect(performance.now() - begin).toBeLessThan(PATIENCE * 1_000);
  expect(new Set(given.values()).size).toBe(20_000);
  expect([given.get(names[0]!), given.get(names[1]!), given.get(names[19_999]!)]).toEqual([
    "a-",
    "a--2",
    "a--20000",
  ]);
  expect(notes).toHaveLength(20_000);
});

it("a name that is usable stays, and another does not get it", () => {
  const notes: string[] = [];
  const given = usableNames("agent", { "a b": {}, "a-b": {}, "a-b-2": {}, api: {} }, notes);
  expect(Object.fromEntries(given)).toEqual({
    "a b": "a-b-3",
    "a-b": "a-b",
    "a-b-2": "a-b-2",
    api: "api-agent",
  });
});
