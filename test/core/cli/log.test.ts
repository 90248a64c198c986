import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { startPropylon } from "./propylon.ts";

const TOOL = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "p",
  setup(gateway) {
    gateway.tool("t", { description: "Answers.", run: () => "done" });
  },
});`;

it("R069: standard output has one JSON object per line, to the last call and the last word", async () => {
  const folder = await mkdtemp(join(tmpdir(), "propylon-log-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "p.ts"), TOOL);
  await writeFile(
    join(folder, "gateway.yaml"),
    "listeners: { main: { port: 0 } }\nplugins: { ./p.ts: {} }\n",
  );
  const { child, url, log } = await startPropylon(["start"], { cwd: folder });
  const stderr: string[] = [];
  child.stderr!.on("data", (chunk: Buffer) => stderr.push(String(chunk)));
  const client = await connectClient(url);
  const calls = 50;
  await Promise.all(Array.from({ length: calls }, () => client.callTool({ name: "t" })));
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await client.close();
  await closed;

  expect(log().endsWith("}\n")).toBe(true);
  const lines = log()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ action, tool }) => action === "tools/call" && tool === "t")).toHaveLength(
    calls,
  );
  for (const line of lines)
    expect(line).toMatchObject({ ts: expect.any(String), level: expect.any(String) });
  expect(lines.at(-1)).toMatchObject({ msg: "shutting down", signal: "SIGTERM" });
  expect(stderr.join("")).toBe("");
});
