/** npx jiti test/contract/plugin-rooms.ts: the rooms of each plugin, ground first, and how many files each of them has. */
import { dirname, join, relative } from "node:path";
import { importGraph } from "./imports.ts";

/** The web interface is one room of its plugin: its pages, parts and forms are not told apart here. */
const ONE_ROOM = ["plugins/ui/web"];

/** Imports by path alone: plugins reach each other by their public names. */
const GRAPH = importGraph(["plugins"], new Map(), /\.tsx?$/);

/** An import from one room to another. */
export interface RoomArrow {
  readonly from: string;
  readonly to: string;
  /** One import that makes it. */
  readonly by: string;
}

/** Names of the plugins that have rooms. */
export function pluginsWithRooms(): readonly string[] {
  const names = [...GRAPH.keys()].map((file) => file.split("/")).filter(({ length }) => length > 2);
  return [...new Set(names.map(([, name]) => name!))].filter((name) => roomsOf(name).length > 1);
}

/** Files of a plugin, by path from the root of the repository. */
export function filesOf(plugin: string): readonly string[] {
  return [...GRAPH.keys()].filter((file) => file.startsWith(`plugins/${plugin}/`));
}

/** The room of a file: its folder. */
export function roomOf(file: string): string {
  return ONE_ROOM.find((room) => file.startsWith(`${room}/`)) ?? dirname(file);
}

/** What a file imports of its own plugin, types included. */
export function importsOf(file: string): readonly string[] {
  const [, plugin] = file.split("/");
  return (GRAPH.get(file) ?? []).filter((path) => path.startsWith(`plugins/${plugin}/`));
}

/**
 * Imports from room to room, without the plugin's own folder: what stands there either puts the rooms together, or is ground for all
 * of them.
 */
export function arrowsOf(plugin: string): readonly RoomArrow[] {
  const own = join("plugins", plugin);
  const arrows = new Map<string, RoomArrow>();
  for (const file of filesOf(plugin))
    for (const path of importsOf(file)) {
      const [from, to] = [roomOf(file), roomOf(path)];
      if (from !== to && from !== own && to !== own)
        arrows.set(`${from} ${to}`, { from, to, by: `${file} -> ${path}` });
    }
  return [...arrows.values()];
}

/** Rooms with the ground first; `undefined` where they import each other in a circle. */
export function inOrder(plugin: string): readonly (readonly string[])[] | undefined {
  const arrows = arrowsOf(plugin);
  const left = new Set(roomsOf(plugin).filter((room) => room !== join("plugins", plugin)));
  const order: string[][] = [];
  while (left.size > 0) {
    const free = [...left].filter((room) =>
      arrows.every(({ from, to }) => from !== room || !left.has(to)),
    );
    if (free.length === 0) return undefined;
    for (const room of free) left.delete(room);
    order.push(free);
  }
  return order;
}

/** Rooms of a plugin, its own folder included. */
function roomsOf(plugin: string): readonly string[] {
  return [...new Set(filesOf(plugin).map(roomOf))];
}

if (process.argv[1] === import.meta.filename)
  for (const plugin of pluginsWithRooms()) {
    const own = join("plugins", plugin);
    const count = (room: string): number =>
      filesOf(plugin).filter((file) => roomOf(file) === room).length;
    const name = (room: string): string => `${relative(own, room)} (${count(room)})`;
    const floors = inOrder(plugin)?.map((rooms) => rooms.map(name).join(", ")) ?? ["a circle"];
    console.log(`${plugin} (${count(own)}): ${floors.join(" < ")}`);
  }
