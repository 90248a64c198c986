import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { STAGES } from "../../core/index.ts";
import { roomsOfCore } from "./floors.ts";

const PAGE = readFileSync("docs/architecture.md", "utf8");
const [CALL = ""] = /(?<=```mermaid\n)sequenceDiagram\n[\s\S]*?(?=```)/.exec(PAGE) ?? [];

it("the table has every folder of core, and no other", () => {
  const told = [...PAGE.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name!);
  expect(told.toSorted()).toEqual(roomsOfCore().toSorted());
});

it("in the picture of a call, it passes the stages in their order", () => {
  expect(CALL).toContain(`P->>P: ${STAGES.join(", ")}\n`);
});

const FILES = [...PAGE.matchAll(/^\d\. \[`([^`]+\.ts)`\]\(\.\.\/\1\)/gm)].map(([, path]) => path!);

it("names five files to read, each at most 400 lines", () => {
  expect(FILES).toHaveLength(5);
  for (const file of FILES)
    expect({ file, isShort: readFileSync(file, "utf8").split("\n").length <= 401 }).toEqual({
      file,
      isShort: true,
    });
});

it("explains words that stand in these files, each once", () => {
  const [, table = ""] = /^## Words\n([^]*)/m.exec(PAGE) ?? [];
  const words = [...table.matchAll(/^\| (\w+) +\|/gm)].map(([, word]) => word!).slice(1);
  const text = FILES.map((file) => readFileSync(file, "utf8")).join("\n");
  expect(words.length).toBeGreaterThan(20);
  expect(words).toEqual([...new Set(words)].toSorted());
  expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(text))).toEqual([]);
});

it("0086: each answer to a newcomer's question stands word for word in one of the two pages", () => {
  const decision = readFileSync("docs/decisions/0086-two-pages-for-a-newcomer.md", "utf8");
  const answers = [...decision.matchAll(/^\d+\. (.+\?) "(.+)"$/gm)].map(([, , answer]) => answer!);
  const pages = `${PAGE}${readFileSync("docs/one-call.md", "utf8")}`;
  expect(answers).toHaveLength(10);
  expect(answers.filter((answer) => !pages.includes(answer))).toEqual([]);
});
