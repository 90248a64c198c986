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
  expect(graph.get("core/call/answer.ts")).toContain("core/call/types.ts");
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
