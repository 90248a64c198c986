import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expand, readEnvironment } from "../../../core/config/variables.ts";
import { makeFolder } from "../../kit/folder.ts";

const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);
const text = fc.string({ maxLength: 20 });

describe("variables in strings", () => {
  it.each([
    ["${A}", "one"],
    ["${env:A}", "one"],
    ["x${A}y${B}z", "xoneytwoz"],
    ["${UNSET:-fallback}", "fallback"],
    ["${UNSET:-}", ""],
    ["${EMPTY:-fallback}", "fallback"],
    ["${EMPTY}", ""],
    ["${UNSET:-http://host:${A:-8080}}/x", "http://host:one/x"],
    ["${UNSET:-http://host:${PORT:-8080}}/x", "http://host:8080/x"],
    ["${A:-${PORT}}", "one"],
    ["${UNSET:-{}}", "{}"],
    ["${UNSET:-$$}", "$$"],
    ["$${A}", "${A}"],
    ["$$", "$"],
    ["cost $5", "cost $5"],
    ["^a$", "^a$"],
  ])("%s becomes %s", (raw, expected) => {
    const { value, issues } = expand({ a: [raw] }, { A: "one", B: "two", EMPTY: "" });
    expect(issues).toEqual([]);
    expect(value).toEqual({ a: [expected] });
  });

  it("names an unset variable with its path and a similar one, and leaves the text", () => {
    const { value, issues } = expand({ a: { b: "x ${TOKN}" } }, { TOKEN: "secret" });
    expect(value).toEqual({ a: { b: "x ${TOKN}" } });
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ path: ["a", "b"], message: "The variable TOKN is not set." });
    expect(issues[0]!.hint).toContain('Did you mean "TOKEN"?');
  });

  it("takes what a default takes from the environment for a secret, and misses what it misses", () => {
    const { secrets } = expand("${UNSET:-Bearer ${A}}", { A: "one" });
    expect([...secrets]).toEqual(["one"]);
    const { issues } = expand("${UNSET:-x ${GONE}}", {});
    expect(issues.map(({ message }) => message)).toEqual(["The variable GONE is not set."]);
  });

  it.each(["${}", "${A-B}", "${UNSET:-${B}", "${UNSET:-${B-C}}", "${input:key}", "${A", "${1A}"])(
    "refuses %s",
    (raw) => {
      expect(expand(raw, { A: "one" }).issues).toHaveLength(1);
    },
  );

  it("never expands what a variable holds", () => {
    expect(expand("${A}", { A: "${B}", B: "two" }).value).toBe("${B}");
  });

  it("gives back every value exactly, whatever surrounds it", () => {
    fc.assert(
      fc.property(name, text, text, text, (variable, value, before, after) => {
        const escape = (plain: string): string => plain.replaceAll("$", "$$$$");
        const { value: result, issues } = expand(
          `${escape(before)}\${${variable}}${escape(after)}`,
          { [variable]: value },
        );
        expect(issues).toEqual([]);
        expect(result).toBe(before + value + after);
      }),
    );
  });

  it("leaves everything but strings alone", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const plain = JSON.parse(JSON.stringify(value).replaceAll("$", "S")) as unknown;
        expect(expand(plain, {}).value).toEqual(plain);
      }),
    );
  });
});

describe(".env", () => {
  it("supplies what the real environment lacks and never overrides it", async () => {
    const folder = makeFolder({ ".env": 'A=from file\nB="two words" # comment\nexport C=3\n' });
    expect(await readEnvironment(folder, { A: "real" })).toEqual({
      A: "real",
      B: "two words",
      C: "3",
    });
    expect(process.env["C"]).toBeUndefined();
  });

  it("rest-11: of an editor that begins a file with a byte order mark have their names", async () => {
    const folder = makeFolder({ ".env": "\uFEFFKEY_A=one\r\nKEY_B=two\r\n" });
    expect(await readEnvironment(folder, {})).toEqual({ KEY_A: "one", KEY_B: "two" });
  });

  it("need not exist", async () => {
    expect(await readEnvironment(join(tmpdir(), "propylon-none"), { A: "1" })).toEqual({
      A: "1",
    });
  });
});
