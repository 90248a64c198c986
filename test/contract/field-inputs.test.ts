import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { FieldTest } from "./field-input.ts";
import { MCP_INPUTS } from "./field-inputs-mcp.ts";
import { REST_INPUTS } from "./field-inputs-rest.ts";

const TESTS = fileURLToPath(new URL("..", import.meta.url));

/** Whether a test stands in its file: as a text of its own, or the beginning of one. */
function stands([file, title]: FieldTest): boolean {
  if (!existsSync(TESTS + file)) return false;
  const text = readFileSync(TESTS + file, "utf8");
  return ['"', "'", "`"].some((quote) => text.includes(quote + title));
}

describe.each(Object.entries({ ...MCP_INPUTS, ...REST_INPUTS }))(
  "input %s",
  (_name, { test, siblings }) => {
    it("is run by a test", () => {
      expect([test].filter((each) => !stands(each))).toEqual([]);
    });

    it("has two siblings and more, each a test or a case of one", () => {
      expect(siblings.filter((each) => !stands(each))).toEqual([]);
      const known = new Set([test, ...siblings].map((each) => each.join(" ")));
      expect(known.size).toBeGreaterThanOrEqual(3);
      expect(known.size).toBe(siblings.length + 1);
    });
  },
);

it("has all 37", () => {
  expect(Object.keys({ ...MCP_INPUTS, ...REST_INPUTS })).toHaveLength(37);
});
