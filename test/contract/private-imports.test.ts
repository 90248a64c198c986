import { expect, it } from "vitest";
import { doorsOf, importedName, originOf, pathImports, testFiles } from "./doors.ts";
import { selfImports } from "./imports.ts";

/** Replaced or measured modules must not be loaded by way of a door, which loads more. */
const PATHS = /\.alone\.|^test\/core\/testing\/|websocket-load/;

/** Doors that stand as files, too: core/index.ts and the like, and the index of a plugin. */
const DOORS = new Set(selfImports().values());

/** How many files of tests import by private paths what no door exports, because the part itself is the point. */
const MAX_FILES = 350;

const privateImports = testFiles().flatMap((file) =>
  pathImports(file)
    .filter(({ path }) => !DOORS.has(path))
    .map((statement) => ({ file, statement })),
);

it("a test imports by a private path only what no door exports", () => {
  const doors = doorsOf();
  const there = privateImports
    .filter(({ file }) => !PATHS.test(file))
    .flatMap(({ file, statement }) =>
      statement.names.flatMap((item) => {
        const door = doors.get(originOf(statement, item));
        return door === undefined ? [] : [`${file}: ${importedName(item)} is exported by ${door}`];
      }),
    );
  expect(there).toEqual([]);
});

it("few tests know more than the doors", () => {
  const files = new Set(privateImports.map(({ file }) => file));
  expect(files.size).toBeGreaterThan(100);
  expect(files.size).toBeLessThanOrEqual(MAX_FILES);
});
