import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { STAGES } from "../../core/index.ts";

const sources = [
  "core/gateway/compile.ts",
  ...readdirSync("plugins", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `plugins/${name}`),
].map((file) => readFileSync(file, "utf8"));

it("the core or a plugin that comes along joins every stage", () => {
  const isJoined = (stage: string): boolean =>
    sources.some((text) => new RegExp(`(?:\\.use\\(\\s*|stage: )"${stage}"`).test(text));
  expect(STAGES.filter((stage) => !isJoined(stage))).toEqual([]);
});
