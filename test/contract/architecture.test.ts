import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { STAGES } from "../../core/index.ts";
import { importGraph } from "./imports.ts";

const PAGE = readFileSync("docs/architecture.md", "utf8");
const FOLDERS = readdirSync("core", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  // Git knows no empty folders, but leaves them behind.
  .filter((name) => readdirSync(`core/${name}`).length > 0);
const [HOUSE = "", CALL = ""] = [...PAGE.matchAll(/```mermaid\n([\s\S]*?)```/g)].map(
  ([, text]) => text!,
);

it("the table has every folder of core, and no other", () => {
  const told = [...PAGE.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name!);
  expect(told.toSorted()).toEqual(FOLDERS.toSorted());
});

it("in the picture of the house, folders that are joined know each other", () => {
  const joined = new Set(
    [...importGraph()].flatMap(([file, imports]) =>
      imports.map((path) => `${folderOf(file)} ${folderOf(path)}`),
    ),
  );
  const arrows = [...HOUSE.matchAll(/^ {2}(\w+)((?: --> \w+)+)$/gm)].flatMap(([, from, rest]) => {
    const names = [from!, ...rest!.split(" --> ").slice(1)];
    return names.slice(1).map((to, index) => [names[index]!, to] as const);
  });
  const known = arrows.filter((pair) => pair.every((name) => FOLDERS.includes(name)));
  expect(known.length).toBeGreaterThan(6);
  for (const [from, to] of known)
    expect(joined.has(`${from} ${to}`) || joined.has(`${to} ${from}`), `${from} ${to}`).toBe(true);
});

it("in the picture of a call, it passes the stages in their order", () => {
  expect(CALL).toContain(`P->>P: ${STAGES.join(", ")}\n`);
});

it("names six files to read, each at most 290 lines", () => {
  const files = [...PAGE.matchAll(/^\d\. \[`([^`]+\.ts)`\]\(\.\.\/\1\)/gm)].map(
    ([, path]) => path!,
  );
  expect(files).toHaveLength(6);
  for (const file of files)
    expect({ file, isShort: readFileSync(file, "utf8").split("\n").length <= 291 }).toEqual({
      file,
      isShort: true,
    });
});

function folderOf(path: string): string {
  return dirname(path).split("/")[1] ?? "";
}
