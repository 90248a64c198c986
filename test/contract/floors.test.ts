import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  arrowsOfCore,
  BATTERIES,
  drawFloors,
  FLOORS,
  goesDown,
  placeOf,
  roomOf,
  roomsOfCore,
} from "./floors.ts";
import { circlesIn, importGraph, importStatements, selfImports } from "./imports.ts";

const PAGE = "docs/architecture.md";
const PICTURE = /(?<=```mermaid\n)flowchart TB\n(?: {2}\w+ --> \w+\n)+(?=```)/;
/** Arrows between rooms. They only ever fall. */
const MAX_ARROWS = 45;

const found = [...arrowsOfCore().values()];
const arrows = found.map(({ arrow }) => arrow);

it("issue 40 line 1: every room of core stands on one floor", () => {
  expect(FLOORS.flat().toSorted()).toEqual(roomsOfCore().toSorted());
});

it("issue 40 line 1: every import between rooms of core goes down, types included", () => {
  expect(arrows.length).toBeGreaterThan(40);
  expect(found.filter(({ arrow }) => !goesDown(arrow)).map(({ by }) => by)).toEqual([]);
});

it("issue 40 line 1: no more rooms import each other than did", () => {
  // With the names, so that a failure shows what has come along.
  const names = arrows.map((arrow) => arrow.join(" > ")).toSorted();
  expect(names.length > MAX_ARROWS ? names : []).toEqual([]);
});

it("issue 40 line 1: an arrow that is turned round, to a neighbour or to a door is found", () => {
  for (const [from, to] of arrows) expect(goesDown([to, from]), `${to} ${from}`).toBe(false);
  expect(goesDown(["server", "http"])).toBe(false);
  expect(goesDown(["gateway", "doors"])).toBe(false);
  expect(goesDown(["gateway", "nowhere"])).toBe(false);
});

it("issue 40 line 1: a room imports none of its batteries before somebody asks for it", () => {
  const graph = importGraph(["core"], new Map());
  const early = BATTERIES.flatMap((battery) => {
    const room = roomOf(`core/${battery}/`);
    const own = [...graph.keys()].filter((file) => file.startsWith(`core/${battery}/`));
    expect(own).not.toEqual([]);
    return [...graph]
      .filter(([file]) => roomOf(file) === room && placeOf(file) !== battery)
      .filter(([file, imports]) =>
        imports.some((path) => own.includes(path) && loadsAtOnce(file, path)),
      )
      .map(([file]) => `${file} -> ${battery}`);
  });
  expect(early).toEqual([]);
});

/** Whether a file is loaded together with one that imports it: types are not. */
function loadsAtOnce(file: string, path: string): boolean {
  return importStatements(file, path).some((each) => !/^(?:import|export) type /.test(each));
}

it("issue 40 line 1: beside the rooms of core there are doors alone", () => {
  const files = readdirSync("core", { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name).toSorted()).toEqual([
    "index.ts",
    "internal.ts",
    "kit.ts",
    "process.ts",
    "store.ts",
  ]);
  for (const { name } of files)
    for (const line of readFileSync(`core/${name}`, "utf8").matchAll(/^\w.*$/gm))
      expect(line[0]).toMatch(/^(?:export |\} from )/);
});

/** The program itself with its table, and what runs in a browser, where a door would bring all of core along. */
const THROUGH_THE_WALL: readonly string[] = [
  "plugins/cli.ts",
  "plugins/commands.ts",
  "plugins/ui/web/kit/json.ts",
];

it("issue 40 line 1: plugins import core by its doors alone", () => {
  const doors = new Set(selfImports().values());
  const wrong = [...importGraph()].flatMap(([file, imports]) =>
    file.startsWith("plugins/") && !THROUGH_THE_WALL.includes(file)
      ? imports.filter((path) => path.startsWith("core/") && !doors.has(path))
      : [],
  );
  expect(wrong).toEqual([]);
});

it("issue 40 line 1: the picture of the page is that of the imports (UPDATE_DOCS=1 draws it)", () => {
  const page = readFileSync(PAGE, "utf8");
  const drawn = `${drawFloors(arrows)}\n`;
  if (process.env["UPDATE_DOCS"] === "1")
    writeFileSync(
      PAGE,
      page.replace(PICTURE, () => drawn),
    );
  expect(PICTURE.exec(readFileSync(PAGE, "utf8"))?.[0]).toBe(drawn);
});

it("issue 40 line 1: templates have no circle of imports", () => {
  const graph = importGraph(["templates/src"]);
  expect(graph.size).toBeGreaterThan(5);
  expect(roomOf("templates/src/index.ts")).toBeUndefined();
  expect(circlesIn(graph)).toEqual([]);
});
