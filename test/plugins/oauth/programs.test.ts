import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, it, onTestFinished } from "vitest";
import { Browser } from "../../fixtures/browser.ts";
import { requirePresent } from "../../fixtures/programs.ts";
import { newBrowser, REDIRECT, setupLogin, visit } from "./kit.ts";

const PYTHON = process.env["PYTHON"] ?? "python3";
const HERE = fileURLToPath(new URL(".", import.meta.url));
const MCP_REMOTE = fileURLToPath(
  new URL("../../../node_modules/mcp-remote/dist/proxy.js", import.meta.url),
);

it("the official Python client registers, logs in and calls", async (context) => {
  const found = await promisify(execFile)(PYTHON, ["-c", "import mcp.client.auth"]).catch(
    () => undefined,
  );
  // Neither npm nor apt has it, so not in CI either: PYTHON names an interpreter that does.
  requirePresent("the Python package mcp", found !== undefined, context, false);
  const { endpoint } = await setupLogin();
  const child = spawn(PYTHON, [join(HERE, "python-client.py"), endpoint, REDIRECT], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  let who = "";
  for await (const line of createInterface(child.stdout)) {
    const [word, value = ""] = line.split(" ");
    if (word === "open") {
      const end = await visit(newBrowser(), value);
      child.stdin.write(`${end instanceof URL ? end.href : end.text}\n`);
    }
    if (word === "who") who = value;
  }
  expect({ who, errors: who === "" ? errors : "" }).toEqual({ who: "user:login:ada", errors: "" });
}, 120_000);

interface Called {
  readonly content: readonly [{ readonly text: string }];
}

it("mcp-remote registers, logs in and calls, for clients that only start programs", async () => {
  const { endpoint } = await setupLogin();
  const folder = mkdtempSync(join(tmpdir(), "propylon-mcp-remote-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, endpoint, "--transport", "http-only", "--debug"],
    // No browser of this machine opens.
    env: { PATH: folder, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: "pipe",
  });
  let told = "";
  const opened = new Promise<void>((resolve) => {
    transport.stderr!.on("data", (chunk: Buffer) => {
      const before = told;
      told += chunk.toString();
      const start = /https?:\/\/\S+\/oauth\/authorize\?\S+/.exec(told)?.[0];
      if (start === undefined || before.includes(start)) return;
      // Its own listener takes the answer.
      const browser = new Browser(() => false);
      void visit(browser, start).then(() => resolve());
    });
  });
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  await Promise.all([client.connect(transport), opened]).catch((error: unknown) => {
    throw new Error(told, { cause: error });
  });
  const result = (await client.callTool({ name: "who" })) as unknown as Called;
  expect(result.content[0].text).toBe("user:login:ada");
});
