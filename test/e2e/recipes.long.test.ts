import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { PageRun, stepsOf } from "../fixtures/page-run.ts";

const RECIPES = readdirSync("docs/recipes").map((name) => `docs/recipes/${name}`);
/** The three machines of that recipe are addresses of this one: it has a test of its own. */
const ALONE = RECIPES.filter((page) => !page.endsWith("three-machines.md"));

const MOST_WORDS = 350;

describe.each(ALONE)("%s", (page) => {
  it("does what it says, command by command", async () => {
    const steps = stepsOf(readFileSync(page, "utf8"));
    const run = await PageRun.open([8080]);
    onTestFinished(() => run.close());
    // It begins in a folder with Propylon.
    await run.do({ kind: "command", command: "npm install", output: "" });
    for (const step of steps) expect(await run.do(step)).toEqual(step);
    const kinds = steps.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(["file", "server", "command"]));
  }, 300_000);
});

it.each(RECIPES)("%s is short", (page) => {
  const words = readFileSync(page, "utf8").split(/\s+/).filter(Boolean);
  expect(words.length).toBeLessThanOrEqual(MOST_WORDS);
});
