import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesLiterals } from "../../../core/kit/wildcard.ts";
import { exposeNames, nameFilter, UriTemplates } from "../../../plugins/mcp/exposed-names.ts";
import { FakeServer } from "./kit.ts";
import { rounds } from "../../fixtures/ci.ts";

const part = fc.stringMatching(/^[A-Za-z0-9_.-]{1,40}$/);
const rule = fc.record({
  naming: fc.constantFrom("none" as const, "server" as const, "auto" as const),
  separator: fc.constantFrom("__", ".", "-"),
});
const items = fc.array(
  fc.record({
    prefix: fc.oneof(part, fc.constantFrom("a", "b")),
    name: fc.oneof(part, fc.constantFrom("echo", "a__echo"), fc.string()),
  }),
  { maxLength: 30 },
);

describe("exposeNames", () => {
  it("gives only valid names of at most 64 characters, each once, and one outcome per item", () => {
    fc.assert(
      fc.property(items, rule, (given, how) => {
        const results = exposeNames(given, how);
        const names = results.flatMap((result) => ("exposed" in result ? [result.exposed] : []));
        expect(results).toHaveLength(given.length);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      }),
      { numRuns: rounds(2_000) },
    );
  });

  it("is stable: what comes later does not change a name, unless `auto` has to tell two apart", () => {
    fc.assert(
      fc.property(items, items, rule, (given, more, how) => {
        const results = exposeNames([...given, ...more], how).slice(0, given.length);
        const names = new Set(more.map(({ name }) => name));
        const meets = how.naming === "auto" && given.some(({ name }) => names.has(name));
        fc.pre(!meets && ![...names].some((name) => name.includes(how.separator)));
        expect(results).toEqual(exposeNames(given, how));
      }),
    );
  });

  const two = [
    { prefix: "one", name: "echo" },
    { prefix: "two", name: "echo" },
    { prefix: "two", name: "add" },
  ];
  it.each([
    ["none", ["echo", undefined, "add"]],
    ["server", ["one__echo", "two__echo", "two__add"]],
    ["auto", ["one__echo", "two__echo", "add"]],
  ] as const)("%s", (naming, expected) => {
    const results = exposeNames(two, { naming, separator: "__" });
    expect(results.map((result) => ("exposed" in result ? result.exposed : undefined))).toEqual(
      expected,
    );
  });

  it("says what is wrong with a name that is too long", () => {
    const [result] = exposeNames([{ prefix: "server", name: "x".repeat(60) }], {
      naming: "server",
      separator: "__",
    });
    expect(result).toMatchObject({ problem: expect.stringContaining("68 characters") });
  });
});

describe("patterns", () => {
  it("`*` stands for any run of characters, exactly as the slow definition says", () => {
    const text = fc.stringMatching(/^[ab]{0,8}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[ab*]{0,6}$/), text, (pattern, value) => {
        const slow = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(matchesLiterals(pattern.split("*"), value)).toBe(slow.test(value));
      }),
      { numRuns: rounds(5_000) },
    );
  });

  it("absent patterns show everything, an empty list nothing", () => {
    expect(nameFilter(undefined)("x")).toBe(true);
    expect(nameFilter([])("x")).toBe(false);
    expect(nameFilter(["get_*", "echo"])("get_a")).toBe(true);
  });

  it("T23: a template of many expressions is matched in no time", () => {
    const templates = new UriTemplates();
    templates.add(`x:${"{a},".repeat(5_000)}end`, new FakeServer("one"));
    const started = performance.now();
    expect(templates.find(`x:${",".repeat(100_000)}`)).toBeUndefined();
    // Backtracking over 5,000 expressions would take longer than anyone waits.
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it("the template with the most literal text wins", () => {
    const [one, two] = [new FakeServer("one"), new FakeServer("two")];
    const templates = new UriTemplates();
    templates.add("file:///{path}", one);
    templates.add("file:///docs/{name}", two);
    expect(templates.find("file:///docs/a")).toBe(two);
    expect(templates.find("file:///a")).toBe(one);
    expect(templates.find("http://a")).toBeUndefined();
  });
});
