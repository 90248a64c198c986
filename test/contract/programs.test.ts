import { readFileSync } from "node:fs";
import { expect, it, type TestContext } from "vitest";
import { hasProgram, requireProgram } from "../fixtures/programs.ts";

it("23: a missing program skips a test with its reason, and fails it in CI", () => {
  const reasons: (string | undefined)[] = [];
  const context = { skip: ((reason: string) => void reasons.push(reason)) as TestContext["skip"] };
  const require = (isCi: boolean) => () => requireProgram("no-such-program", context, isCi);
  require(false)();
  expect(reasons).toEqual(["no-such-program is not installed"]);
  expect(require(true)).toThrow("no-such-program is not installed.");
  expect(() => requireProgram("node", context, true)).not.toThrow();
  expect(reasons).toHaveLength(1);
  expect(hasProgram("no-such-program")).toBe(false);
});

it("23: CI installs every program that a test asks for", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  for (const path of [".ci/run", ".github/workflows/ci.yml", ".github/workflows/release.yml"])
    expect(read(path)).toMatch(/apt-get install .*nats-server redis-server postgresql/);
  expect(read(".ci/run")).toMatch(/apt-get install .*bsdutils/);
});
