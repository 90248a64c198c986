import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { check, commandOf, ORDERS, troubleIn } from "./runtime.ts";

/** A runtime in a few lines: `answer` is what it does with a message. */
function runtimeThat(answer: string): readonly string[] {
  const code = `require("node:http").createServer((req, res) => {
    res.setHeader("content-type", "application/json");
    if (req.method === "GET") return res.end('{"status":"ok"}');
    ${answer}
  }).listen(process.env.A2A_PORT, "127.0.0.1")`;
  return [process.execPath, "-e", code];
}

/** Where the kit makes the folders of the runtimes that it starts. */
function temporaries(): () => string[] {
  const folder = makeFolder();
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  return () => readdirSync(folder);
}

it("a runtime that dies during the checks is said to have, and the checks go on", async () => {
  const left = temporaries();
  const report = await check({ command: runtimeThat("process.exit(3);") });
  expect(report.levels?.reached).toBe(0);
  const dead = "failed: There was no answer: its process ended on its own with code 3.";
  expect(troubleIn(report)).toMatchObject({ R063: dead, R027: dead, R028: dead });
  expect(left()).toEqual([]);
});

it("a runtime that answers too slowly is said to, with the time it had", async () => {
  const report = await check({ command: runtimeThat(""), timeout: 200 });
  expect(troubleIn(report)).toMatchObject({
    R063: "failed: There was no answer: it took longer than 0.2 s.",
  });
});

it("a runtime that does not start a second time loses nothing of what was found before", async () => {
  const flag = join(makeFolder(), "started");
  const [program = "", ...rest] = commandOf("full");
  const once = `const fs = require("node:fs");
    if (fs.existsSync(${JSON.stringify(flag)})) process.exit(1);
    fs.writeFileSync(${JSON.stringify(flag)}, "");
    process.argv.splice(1, 0, ${JSON.stringify(rest[0])});
    import(${JSON.stringify(rest[0])});`;
  const command = [program, "-e", once];
  const report = await check({ command, level: 2, probes: { ...ORDERS } });
  expect(troubleIn(report)).toEqual({
    R057: expect.stringMatching(
      /^failed: The runtime at .* cannot be reached: its process ended on its own with code 1\./,
    ),
  });
});

it("a runtime that leaves files and children behind leaves nothing", async () => {
  const left = temporaries();
  const busy = `require("node:child_process").spawn(process.execPath, ["-e",
    "setInterval(() => require('node:fs').writeFileSync(process.env.WORK_DIR + '/' + Math.random(), ''), 1)"],
    { stdio: "ignore" }); res.end("{}");`;
  await check({ command: runtimeThat(busy) });
  expect(left()).toEqual([]);
});
