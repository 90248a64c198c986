import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesLiterals } from "../../../core/kit/wildcard.ts";
import { type Contender, Contenders } from "../../../plugins/mcp/view/contenders.ts";
import {
  exposeNames,
  type Named,
  type NamingContext,
  type NamingRule,
} from "../../../plugins/mcp/view/exposed-names.ts";
import { ToolSelection } from "../../../plugins/mcp/view/tool-selection.ts";
import { UriTemplates } from "../../../plugins/mcp/view/uri-templates.ts";
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

const toNamed = (item: { prefix: string; name: string }) => ({ server: item.prefix, ...item });

/** The names of things, where their servers are all there are and no client was told anything. */
function exposed(things: readonly Named[], naming: NamingRule) {
  return [...exposeNames(things, naming, alone(things, naming))];
}

function alone(things: readonly Named[], { separator }: NamingRule): NamingContext {
  const servers = new Map<string, Set<string>>();
  for (const { server, name } of things)
    servers.set(server, (servers.get(server) ?? new Set()).add(name));
  const prefixes = new Map(things.map(({ server, prefix }) => [server, prefix]));
  const all = [...servers].map(([server, names]): Contender => {
    const [may, shows] = [() => true, () => true];
    return { server, prefix: prefixes.get(server)!, names, may, shows };
  });
  return { contenders: new Contenders(all, separator), claimants: () => new Set() };
}

describe("exposeNames", () => {
  it("gives only valid names of at most 64 characters, each once, and one outcome per item", () => {
    fc.assert(
      fc.property(items, rule, (given, how) => {
        const results = exposed(given.map(toNamed), how);
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
        const results = exposed([...given, ...more].map(toNamed), how).slice(0, given.length);
        const names = new Set(more.map(({ name }) => name));
        const meets = how.naming !== "server" && given.some(({ name }) => names.has(name));
        const texts = [...names, ...given.map(({ name }) => name)];
        fc.pre(!meets && !texts.some((name) => name.includes(how.separator)));
        expect(results).toEqual(exposed(given.map(toNamed), how));
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
    const results = exposed(two.map(toNamed), { naming, separator: "__" });
    expect(results.map((result) => ("exposed" in result ? result.exposed : undefined))).toEqual(
      expected,
    );
  });

  it("shortens a name that is too long or that clients reject, the same way whatever else is there", () => {
    const how = { naming: "server", separator: "__" } as const;
    const long = { prefix: "server", name: "x".repeat(60) };
    const odd = { prefix: "server", name: "files/read all" };
    const [first, second] = exposed([long, odd].map(toNamed), how);
    expect(first).toMatchObject({ exposed: expect.stringMatching(/^server__x{49}_[0-9a-f]{6}$/) });
    expect(second).toMatchObject({
      exposed: expect.stringMatching(/^server__files_read_all_\w{6}$/),
    });
    const others = [{ prefix: "a", name: "b" }, odd, { prefix: "z", name: "y" }, long];
    const again = exposed(others.map(toNamed), how);
    expect([again[3], again[1]]).toEqual([first, second]);
  });

  it("a longer limit keeps what fits into it", () => {
    const item = { prefix: "server", name: "x".repeat(120) };
    const [kept] = exposed([toNamed(item)], {
      naming: "auto",
      separator: "__",
      nameLength: 128,
    });
    expect(kept).toMatchObject({ exposed: item.name });
  });

  it("a long prefix leaves room for the name", () => {
    const item = { prefix: "p".repeat(64), name: "list_invoices" };
    const [named] = exposed([toNamed(item)], { naming: "server", separator: "__" });
    expect(named).toMatchObject({ exposed: expect.stringContaining("__list_invoices_") });
  });

  it("a tool is never named as another server's prefixed tool", () => {
    const given = [
      { prefix: "b", name: "a__echo" },
      { prefix: "a", name: "echo" },
      { prefix: "a", name: "b" },
      { prefix: "a__b", name: "c" },
      { prefix: "a", name: "b__c" },
    ];
    const names = exposed(given.map(toNamed), { naming: "auto", separator: "__" });
    expect(names.map((result) => "exposed" in result && result.exposed)).toEqual([
      "b__a__echo",
      "echo",
      "b",
      "c",
      "b__c",
    ]);
    const prefixed = exposed(given.map(toNamed), { naming: "server", separator: "__" });
    expect(prefixed.slice(3).map((result) => "exposed" in result && result.exposed)).toEqual([
      expect.stringMatching(/^a__b__c_\w{6}$/),
      expect.stringMatching(/^a__b__c_\w{6}$/),
    ]);
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
    const none = new Contenders([], "__");
    const item = { server: "s", prefix: "s", name: "get_a" };
    expect(new ToolSelection(undefined, none, "__").has(item)).toBe(true);
    expect(new ToolSelection([], none, "__").has(item)).toBe(false);
    expect(new ToolSelection(["get_*", "echo"], none, "__").has(item)).toBe(true);
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
