import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { importGraph, selfImports } from "./imports.ts";

const graph = importGraph();
const files = [...graph.keys()].filter((file) => file.startsWith("core/"));

/** The names that stand more than once. */
const twice = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];

it("no file of core has the name of another, but for the doors that packages export", () => {
  // A door is named after what packages import.
  const doors = new Set(selfImports().values());
  const names = files.filter((file) => !doors.has(file)).map((file) => basename(file));
  expect(names.length).toBeGreaterThan(200);
  expect(twice(names)).toEqual([]);
});

it("no exported type of core has the name of another", () => {
  const declared = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;
  const names = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(declared)].map(([, name]) => name!),
  );
  expect(names.length).toBeGreaterThan(300);
  expect(twice(names)).toEqual([]);
});
