import { dirname } from "node:path";
import { expect, it } from "vitest";
import { composition } from "../../core/management/composition.ts";
import { createGateway } from "../../core/index.ts";
import { roomOf, roomsOfCore } from "./floors.ts";
import { importGraph } from "./imports.ts";
import { GROUPS, report } from "./lines.mjs";

const { batteries, ...beneath } = GROUPS;

/** Every file that a file reaches by imports, types and dynamic ones included. */
function reachedFrom(start: string): ReadonlySet<string> {
  const graph = importGraph();
  const found = new Set<string>();
  const follow = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const next of graph.get(file) ?? []) follow(next);
  };
  follow(start);
  return found;
}

it("issue 40 line 2: a gateway made in code reaches kit, kernel and store, and nothing else of core", () => {
  const files = [...reachedFrom("core/gateway/gateway.ts")];
  const rooms = new Set(files.map((file) => roomOf(file) ?? dirname(file)));
  expect([...rooms].toSorted()).toEqual(Object.values(beneath).flat().toSorted());
});

it("issue 40 line 2: with mcp, servers, tasks and keys off it loads no plugin", async () => {
  const off = { mcp: false, servers: false, tasks: false, keys: false } as const;
  const gateway = await createGateway({ listeners: { main: { port: 0 } }, plugins: off });
  try {
    await gateway.listen();
    expect(composition(gateway)).toEqual([]);
  } finally {
    await gateway.close();
  }
});

it("issue 40 line 2: the report of lines has every room of core once", () => {
  const rooms = Object.values(GROUPS).flat();
  expect(rooms.toSorted()).toEqual(roomsOfCore().toSorted());
  expect(batteries).not.toContain("gateway");
  for (const { lines, code } of report()) expect(lines).toBeGreaterThan(code);
});
