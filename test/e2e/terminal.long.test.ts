import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { main, workFolder } from "./build.ts";
import { descendantsOf, isAlive } from "../fixtures/processes.ts";
import { requireProgram } from "../fixtures/programs.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await workFolder();
});
afterAll(() => rm(folder, { recursive: true }));

it("a gateway whose terminal is closed ends with its children, by that signal and not by a crash", async () => {
  requireProgram("script");
  const file = join(folder, "gateway.json");
  const servers = { child: { command: process.execPath, args: [SERVER] } };
  await writeFile(file, JSON.stringify({ listeners: { main: { port: 0 } }, servers }));

  // A terminal is what `script` (bsdutils) makes; it is gone when script is.
  const status = join(folder, "status");
  const gateway = `'${process.execPath}' '${main}' start '${file}'`;
  const command = `trap 'kill -HUP $!' HUP; ${gateway} & wait $!; wait $!; echo $? > '${status}'`;
  const terminal = spawn("script", ["--quiet", "--flush", "-c", command, "/dev/null"], {
    env: { ...process.env, TERM: "xterm", SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void terminal.kill("SIGKILL"));
  let printed = "";
  terminal.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  await expect.poll(() => printed).toContain("Point a client at it");
  const processes = descendantsOf(terminal.pid!);
  expect(processes.length).toBeGreaterThanOrEqual(2);
  onTestFinished(() => processes.filter(isAlive).forEach((pid) => process.kill(pid, "SIGKILL")));

  terminal.kill("SIGKILL");
  await once(terminal, "exit");
  await expect.poll(() => processes.filter(isAlive)).toEqual([]);
  expect(await readFile(status, "utf8")).toBe("129\n");
});
