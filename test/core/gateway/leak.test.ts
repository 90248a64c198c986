import { expect, it } from "vitest";
import { leakedResources, openResources } from "../../../core/testing/handles.ts";

it("the suite's leak check sees a timer and a server that stay open", async () => {
  const before = openResources();
  const timer = setInterval(() => {}, 1_000);
  expect(await leakedResources(before)).toEqual(["Timeout: 1"]);
  clearInterval(timer);
  expect(await leakedResources(before)).toEqual([]);
});
