import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import type { Report } from "../../../plugins/conformance/report.ts";
import { freePort } from "../../../core/testing/index.ts";
import { propylon, propylonEach, spawnPropylon } from "../../core/cli/propylon.ts";
import { makeFolder } from "../../kit/folder.ts";
import { commandOf } from "./runtime.ts";

const runtime = ["conformance", "runtime"];

it("R060, R082: 0 and a table for the reference server, started with its command", async () => {
  const { code, stdout } = await propylon([...runtime, "--", ...commandOf("reference")]);
  expect(stdout).toContain("  1  ok       R064  the id of a task is taskId, or else messageId");
  expect(stdout).toContain("Level 1 reached: 15 passed, 0 failed, 0 skipped.");
  expect(code).toBe(0);
});

it("R060: 1 for a runtime below level 1, with its requirement in every format", async () => {
  const folder = makeFolder();
  const [json, junit] = [join(folder, "r.json"), join(folder, "r.xml")];
  const files = ["--json", json, "--junit", junit, "--failing", "fail"];
  const command = commandOf("full", "failed-without-message");
  const { code, stdout } = await propylon([...runtime, ...files, "--", ...command]);
  expect(code).toBe(1);
  expect(stdout).toContain("Below level 1, which every runtime needs to be deployed");
  const report = JSON.parse(readFileSync(json, "utf8")) as Report;
  expect(report).toMatchObject({ kit: "runtime", levels: { asked: 1, reached: 0 } });
  expect(report.results.filter(({ outcome }) => outcome === "failed")).toMatchObject([
    { id: "R066", message: "A failed task had no status.message." },
  ]);
  expect(readFileSync(junit, "utf8")).toContain(
    '<failure message="A failed task had no status.message."/>',
  );
});

it("R071: a URL without a command says what it cannot see, and is not level 2", async () => {
  const child = await startReference();
  const { code, stdout } = await propylon([...runtime, child.url, "--level", "2", "--json", "-"]);
  expect(code).toBe(1);
  const report = JSON.parse(stdout) as Report;
  expect(report.levels).toEqual({ asked: 2, reached: 1 });
  const unseen = report.results.filter(({ outcome }) => outcome === "skipped").map(({ id }) => id);
  expect(unseen).toEqual(["R070", "R071", "R056", "R068", "R069", "R057"]);
});

it("2 when nobody is there, 1 for a wrong command line", async () => {
  const [nobody, ...wrong] = await propylonEach(
    [
      ["http://127.0.0.1:9"],
      [],
      ["nonsense"],
      ["http://h", "--level", "4"],
      ["http://h", "--rounds", "0"],
      ["http://h", "--grace", "soon"],
    ].map((words) => [...runtime, ...words]),
  );
  expect(nobody!.code).toBe(2);
  expect(nobody!.stderr).toContain("The runtime at http://127.0.0.1:9/ cannot be reached");
  expect(wrong.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1]);
  expect(wrong[0]!.stderr).toContain("propylon conformance runtime -- node my-agent.mjs");
  expect(wrong.map(({ stderr }) => stderr).join("")).not.toContain("    at ");
});

it("says before the checks where no report can be written", async () => {
  const folder = join(tmpdir(), "no-such-folder-of-propylon");
  const command = ["--", ...commandOf("reference")];
  const nowhere = await propylon([...runtime, "--junit", join(folder, "r.xml"), ...command]);
  expect(nowhere).toMatchObject({ code: 1, stdout: "" });
  expect(nowhere.stderr).toContain("r.xml (ENOENT).");
  const both = await propylon([...runtime, "--json", "-", "--junit", "-", ...command]);
  expect(both).toMatchObject({ code: 1, stdout: "" });
  expect(both.stderr).toContain("--json and --junit cannot both write to standard output.");
});

it("does not look at what listens on the port of the command already", async () => {
  const { url } = await startReference();
  const { code, stdout, stderr } = await propylon([...runtime, url, "--", ...commandOf("full")]);
  expect(code).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain(`Port ${new URL(url).port} is in use before the command was started.`);
});

it.each([
  ["SIGINT", 130],
  ["SIGHUP", 129],
] as const)("takes what it started along at %s", async (signal, code) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const words = [...runtime, url, "--level", "2", "--slow", "sleep 60000", "--grace", "60s"];
  const kit = spawnPropylon([...words, "--", ...commandOf("full")]);
  await expect.poll(() => statusOf(url)).toBe(200);
  const exit = once(kit, "exit");
  kit.kill(signal);
  expect(await exit).toEqual([code, null]);
  await expect.poll(() => statusOf(url)).toBe(0);
});

it("checks the fixture, started on a port, as an MCP endpoint", async () => {
  const fixture = spawnPropylon(["conformance", "fixture"]);
  onTestFinished(() => void fixture.kill());
  const [line] = (await once(createInterface({ input: fixture.stdout! }), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const { code, stdout } = await propylon(["conformance", "mcp", url, "--era", "modern"]);
  expect(stdout).toContain("ok       modern/cancel ");
  expect(stdout).toContain(
    "Nothing failed, but 1 of 23 checks could not be made: 22 passed, 0 failed, 1 skipped.",
  );
  expect(code).toBe(0);
});

async function startReference(): Promise<{ url: string }> {
  const port = await freePort();
  const [program = "", ...args] = commandOf("reference");
  const child = spawn(program, args, { env: { ...process.env, A2A_PORT: String(port) } });
  onTestFinished(() => void child.kill());
  const url = `http://127.0.0.1:${port}`;
  await expect.poll(() => statusOf(url)).toBe(200);
  return { url };
}

/** Status of a runtime's health; 0 when nobody answers. */
function statusOf(url: string): Promise<number> {
  return fetch(`${url}/health`).then(
    ({ status }) => status,
    () => 0,
  );
}
