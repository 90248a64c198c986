import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stdioServerSchema } from "../../../plugins/servers/entry.ts";
import { FirstStart } from "../../../plugins/servers/first-start.ts";
import { makeFolder } from "../../kit/folder.ts";
import { makeUpstream, reached, readEntry } from "./support/calls.ts";
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
  const folder = makeFolder();
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

/** Begins as a package does that is installed first; what it has, a later start finds. */
const COLD = `
import { existsSync, writeFileSync } from "node:fs";
if (!existsSync(process.argv[2])) {
  await new Promise((resolve) => setTimeout(resolve, Number(process.argv[3])));
  writeFileSync(process.argv[2], "");
}
await import("./child.mjs");
`;

it("mcp-14: a child's first start has the time that an installation takes, and says so", async () => {
  const folder = makeFolder();
  const [file, cache] = [join(folder, "cold.mjs"), join(folder, "cache")];
  writeFileSync(file, COLD);
  writeFileSync(join(folder, "child.mjs"), CHILD);
  const args = [file, cache, "11000"];
  const upstream = use(makeUpstream({ command: process.execPath, args }));
  upstream.start();
  expect(upstream.status).toMatchObject({
    state: "connecting",
    reason: "Connecting. The first start may take up to 60 s; connectTimeout sets this.",
  });
  await reached(upstream, "ready", "backoff");
  expect(upstream.status.state).toBe("ready");
  void upstream.reconnect();
  await reached(upstream, "connecting");
  expect(upstream.status.reason).toBe("Connecting again because somebody asked for it.");
});

/** Speaks both eras, as the SDK does: `initialize` makes it legacy. Its first process answers only once it was asked twice; with `dies` its second one exits. */
const SLOW = `
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const note = (line) => appendFileSync(process.argv[2], line);
note("+");
const number = readFileSync(process.argv[2], "utf8").split("+").length - 1;
const answers = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: {}, resultType: "complete" },
  initialize: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "c", version: "1" } },
};
const held = [];
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  note(method === "initialize" ? "i" : "d");
  if (number === 2 && process.argv[3] === "dies") process.exit(1);
  held.push(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] }) + "\\n");
  if (number > 1 || held.length === 2) process.stdout.write(held.splice(0).join(""));
});`;

it("a child of both eras that is slow to start is a modern one (decision 0002)", async () => {
  const folder = makeFolder();
  const [file, notes] = [join(folder, "slow.mjs"), join(folder, "notes")];
  writeFileSync(file, SLOW);
  const upstream = use(makeUpstream({ command: process.execPath, args: [file, notes] }));
  upstream.start();
  await reached(upstream, "ready", "backoff", "failed");
  expect(upstream.status).toMatchObject({ state: "ready", era: "modern" });
  expect(readFileSync(notes, "utf8")).toBe("+di+d");
  await upstream.reconnect();
  expect(upstream.status.era).toBe("modern");
  expect(readFileSync(notes, "utf8")).toBe("+di+d+d");
});

it("one whose second process exits is asked for the modern era again (decision 0002)", async () => {
  const folder = makeFolder();
  const [file, notes] = [join(folder, "slow.mjs"), join(folder, "notes")];
  writeFileSync(file, SLOW);
  const args = [file, notes, "dies"];
  const upstream = use(makeUpstream({ command: process.execPath, args }));
  upstream.start();
  await reached(upstream, "ready");
  expect(upstream.status.era).toBe("modern");
  expect(readFileSync(notes, "utf8")).toBe("+di+d+d");
});

it("mcp-14: one that was ended has twice the time, until it has connected once", () => {
  const first = new FirstStart(stdioServerSchema.parse({ command: "npx" }));
  const limits = [60_000, 120_000, 240_000, 300_000, 300_000].map((limit) => {
    const is = first.limit;
    first.late();
    return [is, limit];
  });
  for (const [is, limit] of limits) expect(is).toBe(limit);
  first.connected();
  expect([first.limit, first.words]).toEqual([10_000, undefined]);
});

it.each([
  ["a child with a time of its own", { command: "docker", connectTimeout: "90s" }, 90_000],
  ["a server over HTTP", { url: "http://127.0.0.1/mcp" }, 10_000],
])("mcp-14: %s has that time, the first time and later", (_what, entry, limit) => {
  const first = new FirstStart(readEntry(entry));
  first.late();
  expect([first.limit, first.words]).toEqual([limit, undefined]);
});

it("mcp-14: the state names the option when the time was too short", async () => {
  const args = ["-e", "setTimeout(() => {}, 60_000)"];
  const upstream = use(
    makeUpstream({ command: process.execPath, args, connectTimeout: "300ms", protocol: "legacy" }),
  );
  upstream.start();
  await reached(upstream, "backoff");
  expect(upstream.status.reason).toBe(
    'Server "test" did not finish the handshake within 0.3 s. A longer time is servers.test.connectTimeout.',
  );
});
