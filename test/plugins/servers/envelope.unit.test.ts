import type { Call } from "../../../core/index.ts";
import { parseJson } from "../../../core/kit/json.ts";
import { encodeCall } from "../../../plugins/servers/wire/envelope.ts";
import fc from "fast-check";
import { expect, it } from "vitest";

const SENDER = {
  dialect: { era: "legacy", version: "2025-11-25" },
  clientInfo: { name: "gateway", version: "1" },
  takesTasks: false,
  makesTasks: false,
} as const;

/** Texts on both sides of the length from which one is looked at first, with what JSON escapes at any place or at none. */
const long = fc
  .record({
    length: fc.integer({ min: 1_000, max: 1_100 }),
    inside: fc.oneof(
      fc.constantFrom(
        "",
        "\n",
        '"',
        "\\",
        "\u0000",
        "\u001f",
        "\u007f",
        "ü",
        "\u2028",
        "\ud800",
        "😀",
      ),
      fc.string({ unit: "binary", maxLength: 8 }),
    ),
    at: fc.nat(1_100),
  })
  .map(({ length, inside, at }) => {
    const text = "QUJD".repeat(length / 4);
    return text.slice(0, at) + inside + text.slice(at);
  });

const value = fc.oneof(long, fc.jsonValue(), fc.constant(undefined));

it("writes the arguments of a call as JSON.stringify does, long texts too", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), value), (args) => {
      const call = {
        method: "tools/call",
        name: "tool",
        args,
      } as unknown as Call;
      const text = encodeCall(SENDER, "1", call, undefined);
      expect(text.slice(text.indexOf('"arguments":'))).toBe(
        `"arguments":${JSON.stringify(args)}}}`,
      );
    }),
    { numRuns: 2_000 },
  );
});

it("keeps a number that JavaScript would change beside a long text", () => {
  const text = `{"file":"${"QUJD".repeat(300)}","id":12345678901234567890}`;
  const call = { method: "tools/call", name: "tool", args: parseJson(Buffer.from(text), 8) };
  expect(encodeCall(SENDER, "1", call as unknown as Call, undefined)).toContain(
    `"arguments":${text}`,
  );
});
