import { expect, it } from "vitest";
import { GatewayError } from "../../../core/index.ts";
import { TokenMemory } from "../../../plugins/keys/index.ts";

const until = Date.now() + 60_000;

it("who has thousands of tokens pushes out none of others", () => {
  const memory = new TokenMemory<{ of: string }>();
  for (const holder of ["ada", "grace"])
    memory.keep(`token of ${holder}`, { of: holder }, { until, holder });
  for (let index = 0; index < 25_000; index++)
    memory.keep(`${index}`, { of: "mallory" }, { until, holder: "mallory" });
  for (const holder of ["ada", "grace"])
    expect(memory.find(`token of ${holder}`)).toEqual({ of: holder });
  expect([memory.find("0"), memory.find("24999")]).toEqual([undefined, { of: "mallory" }]);
});

it("what it was decided by is asked for each time, and the refusal of one that is over stays", () => {
  const memory = new TokenMemory<{ of: string }>();
  let isCurrent = true;
  memory.keep("a", { of: "ada" }, { until, holder: "ada", isCurrent: () => isCurrent });
  expect(memory.find("a")).toEqual({ of: "ada" });
  isCurrent = false;
  expect(memory.find("a")).toBeUndefined();
  memory.keepOver("a", new GatewayError("unauthorized", "over"));
  expect(memory.find("a")).toBeInstanceOf(GatewayError);
});
