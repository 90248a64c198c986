import { readdirSync } from "node:fs";
import { importGraph } from "./imports.ts";

/**
 * The floors of core, ground first. A room imports rooms of the floors below its own, types included, and no neighbour. The files
 * beside the rooms are doors: nothing in core imports them.
 */
export const FLOORS: readonly (readonly string[])[] = [
  ["kit"],
  ["call", "config", "store"],
  ["plugin"],
  ["server"],
  ["http"],
  ["gateway"],
  ["file"],
  ["workers", "build"],
  ["cli", "testing"],
];

/** Batteries within a room: they import it, and it loads them when somebody asks for what they do, or not at all. */
export const BATTERIES: readonly string[] = [
  "gateway/management",
  "http/websocket",
  "kit/process",
  "server/sdk",
];

/** From a room to one that it imports. */
export type Arrow = readonly [from: string, to: string];

/** The rooms that there are. */
export function roomsOfCore(): readonly string[] {
  return readdirSync("core", { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => readdirSync(`core/${name}`).length > 0);
}

/** The room of a file of core; `undefined` for a door, and for what is not in core. */
export function roomOf(path: string): string | undefined {
  return /^core\/(\w+)\//.exec(path)?.[1];
}

/** The battery of a file within a room, else its room. */
export function placeOf(path: string): string | undefined {
  return BATTERIES.find((battery) => path.startsWith(`core/${battery}/`)) ?? roomOf(path);
}

/** Who imports whom in core, each arrow with one import that makes it. */
export function arrowsOfCore(): ReadonlyMap<string, { arrow: Arrow; by: string }> {
  const arrows = new Map<string, { arrow: Arrow; by: string }>();
  // By path alone: the plugin that `propylon plugin new` writes imports core by its name.
  for (const [file, imports] of importGraph(["core"], new Map())) {
    const from = roomOf(file);
    if (from === undefined) continue;
    for (const path of imports) {
      const to = roomOf(path) ?? "doors";
      if (to !== from) arrows.set(`${from} ${to}`, { arrow: [from, to], by: `${file} -> ${path}` });
    }
  }
  return arrows;
}

/** Whether an arrow goes to a floor below. */
export function goesDown([from, to]: Arrow): boolean {
  const at = (room: string): number => FLOORS.findIndex((floor) => floor.includes(room));
  return at(to) !== -1 && at(to) < at(from);
}

/** The picture for the page: without the arrows that follow from others. */
export function drawFloors(arrows: readonly Arrow[]): string {
  const below = new Map<string, string[]>();
  for (const [from, to] of arrows) below.set(from, [...(below.get(from) ?? []), to]);
  const isReached = (from: string, to: string): boolean =>
    (below.get(from) ?? []).some((next) => next === to || isReached(next, to));
  const drawn = arrows.filter(
    ([from, to]) => !below.get(from)!.some((next) => next !== to && isReached(next, to)),
  );
  const lines = drawn.map(([from, to]) => `  ${from} --> ${to}`).toSorted();
  return ["flowchart TB", ...lines].join("\n");
}
