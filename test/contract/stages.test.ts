import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { STAGES } from "../../core/index.ts";

const sources = execFileSync("git", ["ls-files", "plugins/*.ts", "core/call/built-in-stages.ts"], {
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .map((file) => readFileSync(file, "utf8"));

it("the core or a plugin that comes along joins every stage", () => {
  const isJoined = (stage: string): boolean =>
    sources.some((text) => new RegExp(`(?:\\.use\\(\\s*|stage: )"${stage}"`).test(text));
  expect(STAGES.filter((stage) => !isJoined(stage))).toEqual([]);
});
