import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { STAGES } from "../../core/index.ts";
import { LEGACY_CLIENT_VERSIONS, MODERN_VERSIONS } from "../../plugins/mcp/message/protocol.ts";

const PAGE = readFileSync("README.md", "utf8");
const MANIFEST = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
};

it("every badge is true", () => {
  const badges = [...PAGE.matchAll(/\[!\[([^\]]+)\]\(/g)].map(([, text]) => text);
  expect(badges).toEqual([
    `Node ${MANIFEST.engines.node.replace(/^>=(.*)\.0$/, "$1")} or newer`,
    `MCP ${MODERN_VERSIONS[0]} and ${LEGACY_CLIENT_VERSIONS[0]}`,
    // The lockfile has none: supply-chain.test.ts, to which the badge leads.
    "install scripts: 0",
    `${MANIFEST.license} licence`,
  ]);
});

it("the picture has the stages in their order", () => {
  expect(PAGE).toContain(STAGES.join(" ─▶ "));
});

it("names every page of a plugin", () => {
  const linked = new Set(
    [...PAGE.matchAll(/\]\((docs\/plugins\/[\w-]+\.md)\)/g)].map(([, to]) => to!),
  );
  const pages = readdirSync("docs/plugins").map((name) => `docs/plugins/${name}`);
  expect([...linked].toSorted()).toEqual(pages.toSorted());
});

it("has no figure that docs/benchmarks.md has not", () => {
  const measured = [...readFileSync("docs/benchmarks.md", "utf8").matchAll(/\d[\d,]*(?:\.\d+)?/g)];
  const numbers = measured.map(([text]) => Number(text.replaceAll(",", "")));
  const shown = [...PAGE.matchAll(/([\d.]+) (?:µs|ms)\b/g)].map(([, text]) => text!);
  const isMeasured = (text: string): boolean =>
    numbers.some((number) => number.toFixed(text.split(".")[1]?.length ?? 0) === text);
  expect(shown.length).toBeGreaterThan(6);
  expect(shown.filter((text) => !isMeasured(text))).toEqual([]);
});

it("names only scripts that exist", () => {
  const named = [...PAGE.matchAll(/npm (?:run )?(start|test|team|docs|pack)\b/g)].map(
    ([, name]) => name!,
  );
  expect(new Set(named)).toEqual(new Set(["start", "test", "team", "docs", "pack"]));
  expect(named.filter((name) => MANIFEST.scripts[name] === undefined)).toEqual([]);
});
