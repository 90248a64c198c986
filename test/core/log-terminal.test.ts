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
