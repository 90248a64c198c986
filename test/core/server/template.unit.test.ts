import fc from "fast-check";
import { matchesWildcard } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { compileTemplate } from "../../../core/server/template.ts";

describe("a resource template", () => {
  it("returns the values that were expanded into it", () => {
    const segment = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(segment, segment, (id, name) => {
        const uri = `demo://${encodeURIComponent(id)}/items/${encodeURIComponent(name)}.json`;
        // A value that itself ends in the literal is cut at the last one, which is where the expansion put it.
        expect(compileTemplate("demo://{id}/items/{name}.json").match(uri)).toStrictEqual({
          id,
          name,
        });
      }),
    );
  });

  it.each(["demo://", "demo://a/b", "other://a", "demo://%zz", ""])("does not match %j", (uri) => {
    expect(compileTemplate("demo://{id}").match(uri)).toBeUndefined();
  });

  it.each(["a://{+path}", "a://{x,y}", "a://{x}{y}", "a://{x", "a://{}"])(
    "refuses %j",
    (template) => {
      expect(() => compileTemplate(template)).toThrow(/Resource template/);
    },
  );

  it("T23: a hostile URI costs linear time", () => {
    const template = compileTemplate("a://{a},{b},{c},{d},{e}!");
    const started = performance.now();
    for (const length of [30, 100_000])
      expect(template.match(`a://${",".repeat(length)}`)).toBeUndefined();
    // Backtracking over five variables would take longer than anyone waits.
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("a wildcard", () => {
  it.each([
    ["*", "", true],
    ["a*c", "abc", true],
    ["a*c", "ac", true],
    ["a*a", "a", false],
    ["*b*", "abc", true],
    ["a.c", "abc", false],
    ["a*b*c", "a-c-b", false],
    ["abc", "abc", true],
    ["abc", "abcd", false],
  ])("%j against %j is %j", (pattern, text, expected) => {
    expect(matchesWildcard(pattern, text)).toBe(expected);
  });

  it("agrees with the regular expression it stands for", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
    fc.assert(
      fc.property(letters, text, (pattern, value) => {
        expect(matchesWildcard(pattern, value)).toBe(
          new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(value),
        );
      }),
    );
  });
});
