import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { circlesIn, importGraph } from "./imports.ts";

const graph = importGraph();

it("finds a circle where there is one", () => {
  const drawn = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["b"]],
    ["d", ["d"]],
    ["e", ["a"]],
  ]);
  expect(circlesIn(drawn).map((circle) => circle.toSorted())).toEqual([["b", "c"], ["d"]]);
});

it("reads imports of values, of types, and by the package's own name", () => {
  expect(graph.get("plugins/agents/service.ts")).toContain("plugins/progress/index.ts");
  expect(graph.get("core/call/answer.ts")).toContain("core/kit/types.ts");
  expect([...graph.values()].flat().length).toBeGreaterThan(2_000);
});

it("no file of core or plugins is in a circle of imports", () => {
  expect(circlesIn(graph)).toEqual([]);
});

it("core imports no plugin", () => {
  const wrong = [...graph].flatMap(([file, imports]) =>
    file.startsWith("core/")
      ? imports.filter((path) => path.startsWith("plugins/")).map((path) => `${file} -> ${path}`)
      : [],
  );
  expect(wrong).toEqual([]);
});

it("no test whose types are checked imports what is built: a fresh clone is checked before", () => {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.(?:ts|mjs)$/.test(name) && !name.includes("node_modules"),
  );
  expect(files.length).toBeGreaterThan(500);
  const wrong = files.filter((name) => {
    const text = readFileSync(`test/${name}`, "utf8");
    const isChecked = name.endsWith(".ts") || text.includes("// @ts-check");
    return isChecked && /from "(?:\.\.?\/)+dist\//.test(text);
  });
  expect(wrong).toEqual([]);
});
