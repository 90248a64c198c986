import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { PageRun, stepsOf, type PageStep } from "../fixtures/page-run.ts";
import { PICTURE, terminalPicture } from "../fixtures/terminal-picture.ts";

/** Pages that are run as they stand, with the ports that they name. */
const PAGES: Readonly<Record<string, readonly number[]>> = {
  "docs/learn/gateway.md": [8080],
  "docs/learn/plugin.md": [8080],
  "docs/learn/team.md": [8080, 23030, 23031, 23032],
  "docs/learn/team-auth.md": [8080],
};

describe.each(Object.entries(PAGES))("%s", (page, ports) => {
  const steps = stepsOf(readFileSync(page, "utf8"));

  it("does what it says, command by command", async () => {
    const run = await PageRun.open(ports);
    onTestFinished(() => run.close());
    for (const step of steps) expect(await run.do(step)).toEqual(step);
  }, 300_000);

  it("shows outputs, and runs a gateway", () => {
    const outputs = steps.filter((step) => step.kind === "command" && step.output !== "");
    expect(outputs.length).toBeGreaterThan(2);
    expect(steps.some(({ kind }) => kind === "server")).toBe(true);
  });
});

describe("README.md", () => {
  it("43: does what it says in a clean clone, and its picture shows that run", async () => {
    const run = await PageRun.inCheckout(8080);
    onTestFinished(() => run.close());
    const steps = stepsOf(readFileSync("README.md", "utf8"));
    const ran: PageStep[] = [];
    for (const step of steps) ran.push(await run.do(step));
    expect(ran).toEqual(steps);
    const picture = terminalPicture(ran);
    if (process.env["UPDATE_DOCS"]) writeFileSync(PICTURE, picture);
    expect(readFileSync(PICTURE, "utf8")).toBe(picture);
  }, 300_000);
});

it("runs every tutorial there is", () => {
  const tutorials = readdirSync("docs/learn").map((name) => `docs/learn/${name}`);
  expect(Object.keys(PAGES)).toEqual(expect.arrayContaining(tutorials));
});

it("knows a step from its output", () => {
  const page =
    "`a.yaml`:\n\n```yaml\nx: 1\n```\n\n```console server\n$ serve \\\n  now\n```\n\n```console\n$ one\n1\n$ two\n```\n";
  expect(stepsOf(page)).toEqual([
    { kind: "file", name: "a.yaml", text: "x: 1\n" },
    { kind: "server", command: "serve \\\n  now" },
    { kind: "command", command: "one", output: "1" },
    { kind: "command", command: "two", output: "" },
  ]);
});
