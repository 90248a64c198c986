import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeUpstream, reached } from "./support/calls.ts";
import { closing } from "./support/use.ts";

const use = closing();

/** Notes when it starts and when it answers `initialize`, which it takes its time for. */
const CHILD = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const note = (sign) => appendFileSync(process.argv[2], sign);
note("+");
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    setTimeout(() => {
      note("-");
      say({ id, result: { protocolVersion: params.protocolVersion, capabilities: {}, serverInfo: { name: "c", version: "1" } } });
    }, 200);
  else if (id !== undefined) say({ id, error: { code: -32601, message: "no" } });
});`;

it("no more than four children are starting at once, whatever the number of servers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "propylon-turns-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, notes] = [join(folder, "child.mjs"), join(folder, "notes")];
  writeFileSync(file, CHILD);
  const upstreams = Array.from({ length: 10 }, (_, index) =>
    use(makeUpstream({ command: process.execPath, args: [file, notes] }, { name: `s${index}` })),
  );
  for (const upstream of upstreams) upstream.start();
  await Promise.all(upstreams.map((upstream) => reached(upstream, "ready")));
  let starting = 0;
  let most = 0;
  for (const sign of readFileSync(notes, "utf8")) {
    starting += sign === "+" ? 1 : -1;
    most = Math.max(most, starting);
  }
  expect(starting).toBe(0);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
});
