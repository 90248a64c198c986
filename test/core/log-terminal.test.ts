import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** What a logger for people writes to standard output when a program logs. */
async function shown(program: string): Promise<string> {
  const start = `import { createLogger } from "propylon";
    const log = await createLogger({ level: "info", format: "pretty" });
    ${program}`;
  const args = ["--input-type=module", "-e", start];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

/** Clears a screen, begins a line of its own, rings, changes the direction of text. */
const WORDS = String.raw`a\u001b[2J\r\n[12:00:00.000] INFO: forged\u0007\u009b1m\u202e\u061c\b\\u001b`;

it.each([
  ["in a message", `log.warn("${WORDS}");`],
  ["in a field", `log.warn({ tool: "${WORDS}" }, "refused");`],
  [
    "in an error",
    `log.warn({ err: Object.assign(new Error("${WORDS}"), { code: "${WORDS}" }) }, "failed");`,
  ],
])("S4: what a stranger says %s cannot write to a terminal", async (_, program) => {
  const text = await shown(program);
  expect(text).toContain("[U+001B][2J[U+000D]");
  expect(text).toContain("[U+0007][U+009B]1m[U+202E][U+061C][U+0008]");
  // Neither colours of the log nor anything else: the output is no terminal.
  // oxlint-disable-next-line no-control-regex -- controls are what it is about
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(text).not.toMatch(/^\[12:00:00/m);
  expect(text.match(/^\S/gm)).toHaveLength(1);
});

/** A call as the gateway logs it. */
const CALL = `{ action: "tools/call", server: "shop", tool: "find", duration_ms: 8.6, outcome: "ok", error_code: null,
  endpoint: "mcp", principal: "key:ci", call: "abc" }`;

it.each([
  ["", "find shop ok 9 ms key:ci"],
  [`outcome: "tool_error"`, "find shop tool error 9 ms key:ci"],
  [`outcome: "refused", error_code: "forbidden"`, "find shop refused 9 ms forbidden key:ci"],
  [`outcome: "cancelled", duration_ms: 1234`, "find shop cancelled 1.2 s key:ci"],
  [`outcome: "timed_out", error_code: "timeout"`, "find shop timed out 9 ms key:ci"],
  [
    `outcome: "unreachable", error_code: "circuit_open", principal: "anonymous:local"`,
    "find shop unreachable 9 ms circuit open",
  ],
  [`tool: "a\\u001b[2J\\nb"`, "a[U+001B][2J[U+000A]b shop ok 9 ms key:ci"],
  [`action: "resources/read", tool: "shop://a"`, "read shop://a shop ok 9 ms key:ci"],
])("43: a call is one line in the words of its outcome: %s", async (members, words) => {
  const text = await shown(`log.info({ ...${CALL}, ${members} }, "call");`);
  expect(text).toMatch(/^\d\d:\d\d:\d\d {2}[^\n]+\n$/);
  expect(text.trim().split(/ +/).slice(1).join(" ")).toBe(words);
});

it("43: an error says where in the reader's own files it was thrown, once, without a stack", async () => {
  const text = await shown(`
    const err = new Error("boom");
    err.stack = "Error: boom\\n    at setup (" + process.cwd() + "/plugins/glossary.ts:17:11)\\n    at run (node:internal/x:1:1)";
    log.error({ err, reason: "boom" }, "Plugin 'glossary' could not be set up: boom");`);
  expect(text.slice(10)).toBe(
    "error  gateway       Plugin 'glossary' could not be set up: boom (plugins/glossary.ts:17:11)\n",
  );
  const other = await shown(`
    const err = new Error("boom");
    err.stack = "Error: boom\\n    at setup (" + process.cwd() + "/plugins/glossary.ts:17:11)";
    log.error({ err, plugin: "glossary" }, "A hook failed");`);
  expect(other.slice(10)).toBe(
    "error  glossary      A hook failed: boom (plugins/glossary.ts:17:11)\n",
  );
});
