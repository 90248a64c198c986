import { openResources } from "propylon/testing";
import { expect, it } from "vitest";
import { leakedResources } from "../../../core/testing/handles.ts";

it("the suite's leak check sees a timer and a server that stay open", async () => {
  const before = openResources();
  // Of other files in this thread a timer may end meanwhile, and hide one.
  const timers = Array.from({ length: 20 }, () => setInterval(() => {}, 1_000));
  const [leaked = ""] = await leakedResources(before);
  expect(Number(/^Timeout: (\d+)$/.exec(leaked)?.[1])).toBeGreaterThan(10);
  for (const timer of timers) clearInterval(timer);
  expect(await leakedResources(before)).toEqual([]);
});
