import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { junitOf } from "../../../plugins/conformance/junit.ts";
import {
  isConformant,
  levelReached,
  withoutCredentials,
  type CheckResult,
  type Report,
} from "../../../plugins/conformance/report.ts";
import { tableOf } from "../../../plugins/conformance/table.ts";

const passed: CheckResult = {
  id: "R061",
  title: "health",
  level: 1,
  outcome: "passed",
  duration: 3,
};

function reportOf(results: readonly CheckResult[], rest: Partial<Report> = {}): Report {
  const startedAt = "2026-01-02T03:04:05.000Z";
  return { kit: "runtime", target: "http://h/", startedAt, duration: 1_234, results, ...rest };
}

/** Every string that can come, with much of what XML finds hard. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom("<", ">", "&", "'", '"', "]]>", "\0", "\t", "\r\n", "\uFFFE"),
  }),
  // Halves of characters.
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

describe("JUnit XML", () => {
  it("is well-formed whatever a runtime says, and says it", () => {
    const outcome = fc.constantFrom("failed" as const, "skipped" as const);
    fc.assert(
      fc.property(anyText, anyText, anyText, outcome, (id, title, message, how) => {
        const xml = junitOf(reportOf([{ id, title, message, outcome: how, duration: 1 }]));
        const elements = readXml(xml);
        const [found] = elements.filter(({ name }) => name === "failure" || name === "skipped");
        expect(found!.attributes["message"]).toBe(writable(message));
        const [tested] = elements.filter(({ name }) => name === "testcase");
        expect(tested!.attributes["name"]).toBe(writable(`${id} ${title}`));
      }),
      { numRuns: 200 },
    );
  });

  it("counts", () => {
    const xml = junitOf(
      reportOf([
        passed,
        { ...passed, id: "a", outcome: "failed", message: "no" },
        { ...passed, id: "b", outcome: "skipped", message: "why" },
      ]),
    );
    expect(readXml(xml)).toEqual([
      { name: "testsuites", attributes: {} },
      {
        name: "testsuite",
        attributes: expect.objectContaining({
          tests: "3",
          failures: "1",
          skipped: "1",
          time: "1.234",
        }),
      },
      {
        name: "testcase",
        attributes: { name: "R061 health", classname: "runtime.level1", time: "0.003" },
      },
      { name: "testcase", attributes: expect.objectContaining({ name: "a health" }) },
      { name: "failure", attributes: { message: "no" } },
      { name: "testcase", attributes: expect.objectContaining({ name: "b health" }) },
      { name: "skipped", attributes: { message: "why" } },
    ]);
  });
});

describe("levels", () => {
  it("R060, R067, R072: a level is reached when every check of it and of all below passed", () => {
    const at = (level: 1 | 2 | 3, outcome: CheckResult["outcome"]): CheckResult => ({
      ...passed,
      level,
      outcome,
    });
    expect(levelReached([])).toBe(0);
    expect(levelReached([at(1, "passed")])).toBe(1);
    expect(levelReached([at(1, "passed"), at(1, "skipped"), at(2, "passed")])).toBe(0);
    expect(levelReached([at(1, "passed"), at(2, "skipped"), at(3, "passed")])).toBe(1);
    expect(levelReached([at(1, "passed"), at(2, "passed"), at(3, "failed")])).toBe(2);
    expect(levelReached([at(3, "passed"), at(2, "passed"), at(1, "passed")])).toBe(3);
  });

  it("R060: a report below the level that was asked for is not conformant", () => {
    const levels = { asked: 2, reached: 1 } as const;
    expect(isConformant(reportOf([passed], { levels }))).toBe(false);
    expect(isConformant(reportOf([passed], { levels: { asked: 2, reached: 3 } }))).toBe(true);
    expect(isConformant(reportOf([passed]))).toBe(true);
    expect(isConformant(reportOf([{ ...passed, outcome: "skipped" }]))).toBe(false);
    expect(isConformant(reportOf([passed, { ...passed, outcome: "failed" }]))).toBe(false);
  });
});

describe("the table", () => {
  it("has a line for every check, the reasons, and what it comes to", () => {
    const failed: CheckResult = { ...passed, id: "R1", outcome: "failed", message: "Expected x." };
    const table = tableOf(reportOf([passed, failed], { levels: { asked: 1, reached: 0 } }));
    expect(table.split("\n")).toEqual([
      "runtime conformance of http://h/",
      "",
      "  1  ok       R061  health",
      "  1  FAILED   R1    health",
      "                    Expected x.",
      "",
      "Below level 1, which every runtime needs to be deployed: 1 passed, 1 failed, 0 skipped.",
    ]);
  });

  it("40: calls nothing conformant of which a part was not seen", () => {
    const skipped: CheckResult = { ...passed, outcome: "skipped", message: "why" };
    const verdict = (...results: CheckResult[]) => tableOf(reportOf(results)).split("\n").at(-1);
    expect(verdict(passed)).toBe("Conformant: 1 passed, 0 failed, 0 skipped.");
    expect(verdict(passed, skipped)).toBe(
      "Nothing failed, but 1 of 2 checks could not be made: 1 passed, 0 failed, 1 skipped.",
    );
    expect(verdict(skipped)).toBe("Not conformant: 0 passed, 0 failed, 1 skipped.");
  });

  it("lets no runtime write to the terminal", () => {
    const message = "a\u001B[2Jb\r\nc\u0007\u009Bd";
    const table = tableOf(reportOf([{ ...passed, outcome: "failed", message }]));
    // oxlint-disable-next-line no-control-regex
    expect(table).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
  });
});

it("shows a URL without what may be secret in it", () => {
  expect(withoutCredentials("http://u:p@h:1/mcp?key=1#x")).toBe("http://h:1/mcp");
});

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const REFERENCES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};
/** Char of XML 1.0 section 2.2. */
const CHARS = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]*$/u;
const TAG = /<(\/?)([a-z]+)((?: [a-z]+="[^<"]*")*)(\/?)>/y;
const REFERENCE = /&(?:amp|lt|gt|quot|apos|#\d+);/g;

/** A strict reader of what the reports use of XML 1.0: throws where a document is not well-formed. */
function readXml(xml: string): readonly Element[] {
  expect(xml).toMatch(CHARS);
  const body = xml.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>/, "");
  expect(body).not.toBe(xml);
  const elements: Element[] = [];
  const open: string[] = [];
  for (let at = 0; at < body.length; at = TAG.lastIndex) {
    const space = /\s*/y;
    space.lastIndex = at;
    space.exec(body);
    TAG.lastIndex = space.lastIndex;
    if (space.lastIndex === body.length) break;
    const [, closing, name, attributes, empty] = TAG.exec(body) ?? [];
    if (name === undefined) throw new Error(`no tag at ${body.slice(space.lastIndex, 80)}`);
    if (closing === "/" && open.pop() !== name) throw new Error(`${name} is not what is open`);
    if (closing === "") elements.push({ name, attributes: readAttributes(attributes!) });
    if (closing === "" && empty === "") open.push(name);
  }
  expect(open).toEqual([]);
  return elements;
}

function readAttributes(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/ ([a-z]+)="([^<"]*)"/g)].map(([, name, value]) => {
    expect(value!.replaceAll(REFERENCE, "")).not.toContain("&");
    // A parser makes spaces of them (section 3.3.3).
    const normal = value!.replaceAll(/[\t\n\r]/g, " ");
    return [
      name!,
      normal.replaceAll(
        REFERENCE,
        (one) => REFERENCES[one] ?? String.fromCharCode(Number(one.slice(2, -1))),
      ),
    ] as const;
  });
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
  return Object.fromEntries(pairs);
}

/** What of a text can be written at all. */
function writable(text: string): string {
  return Array.from(text, (char) => (CHARS.test(char) ? char : "\uFFFD")).join("");
}
