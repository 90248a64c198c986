import { countOf, type CheckResult, type Report } from "./report.ts";

/** A report as JUnit XML, for the test view of a CI system. Seconds with three decimals, one suite. */
export function junitOf({ kit, target, startedAt, duration, results }: Report): string {
  const suite = attributes({
    name: `propylon conformance ${kit}`,
    hostname: target,
    timestamp: startedAt,
    time: seconds(duration),
    tests: String(results.length),
    failures: String(countOf(results, "failed")),
    skipped: String(countOf(results, "skipped")),
    errors: "0",
  });
  const cases = results.map((result) => caseOf(kit, result));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite${suite}>`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function caseOf(
  kit: string,
  { id, title, level, outcome, message, duration }: CheckResult,
): string {
  const start = `    <testcase${attributes({
    name: `${id} ${title}`,
    classname: level === undefined ? kit : `${kit}.level${level}`,
    time: seconds(duration),
  })}`;
  if (outcome === "passed") return `${start}/>`;
  const element = outcome === "failed" ? "failure" : "skipped";
  return `${start}><${element}${attributes({ message: message ?? "" })}/></testcase>`;
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(value)}"`)
    .join("");
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  // A parser would make spaces of them in an attribute.
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

/** What XML 1.0 has no way to write at all, even escaped (section 2.2): controls, lone surrogates and two noncharacters. */
// eslint-disable-next-line no-control-regex
const UNWRITABLE = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF\p{Surrogate}]/gu;

/** Text as it may stand in an XML attribute. */
function escaped(text: string): string {
  return text
    .replaceAll(UNWRITABLE, "\uFFFD")
    .replaceAll(/[&<>"'\t\n\r]/g, (char) => ENTITIES[char]!);
}
