import { expect, it } from "vitest";
import { ParkedCalls } from "../../../plugins/mcp/call/parked-calls.ts";

it("T5: at the limit the held calls of whoever has most are aborted, the longest held first", () => {
  const aborted: string[] = [];
  const held = new ParkedCalls();
  const hold = (principal: string, name: string): void =>
    void held.hold({ principal, gone: () => aborted.push(name) });
  hold("bob", "bob's");
  for (let index = 0; index < 1_010; index++) hold("mallory", `mallory's ${index}`);
  hold("bob", "bob's second");
  expect(aborted).toEqual(Array.from({ length: 12 }, (_, index) => `mallory's ${index}`));
  held.close();
  expect(aborted.length).toBe(1_012);
});
