import { expect, it } from "vitest";
import { MANAGED, startManaged } from "./kit.ts";

/** What the API takes and the config refuses, with where. */
const WRONG: readonly (readonly [object, RegExp])[] = [
  [{ command: "x", timeout: "{X}" }, /timeout/],
  [{ command: "x", timeout: "soon" }, /timeout/],
  [{ command: "x", timeout: 1e300 }, /timeout/],
  [{ command: "x", timeout: -1 }, /timeout/],
  [{ command: "x", timeout: {} }, /timeout/],
  [{ command: "x", prefix: "{X}" }, /prefix/],
  [{ command: "x", prefix: "a b!" }, /prefix/],
  [{ command: "x", tools: { include: ["a".repeat(8_000)], exclude: [{}] } }, /tools/],
  [{ command: "-", args: [7] }, /args/],
  [{ url: "http://127.0.0.1:9/mcp#x", timeout: "{X}" }, /timeout|url/],
  [{ url: "http://127.0.0.1:9/mcp", headers: { "x-a": "b" }, timeout: "1 fortnight" }, /timeout/],
];

it("attacks S3-8: an entry that is wrong is 4xx with the place, and leaves the file alone", async () => {
  const managed = await startManaged(
    MANAGED.replace("  admin:\n", "  admin:\n    allowUnsafeCommands: true\n"),
  );
  const before = await managed.digest();
  for (const [entry, place] of WRONG) {
    const { status, body } = await managed.meta("POST", "/servers", { name: "bad", ...entry });
    const told = JSON.stringify(body.error);
    expect([entry, status < 500 || status, place.test(told) || told]).toEqual([entry, true, true]);
    expect(status).toBeGreaterThanOrEqual(400);
  }
  expect(await managed.digest()).toBe(before);
});
