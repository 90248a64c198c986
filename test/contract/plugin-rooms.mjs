/** node test/contract/plugin-rooms.mjs: the rooms of each plugin, ground first, and how many files each of them has. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** The web interface is one room of its plugin: its pages, parts and forms are not told apart here. */
const ONE_ROOM = ["plugins/ui/web"];

/** Names of the plugins that have rooms. */
export function pluginsWithRooms() {
  return readdirSync("plugins", { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => roomsOf(name).length > 1);
}

/** Files of a plugin, by path from the root of the repository. */
export function filesOf(plugin) {
  return readdirSync(join("plugins", plugin), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join("plugins", plugin, name));
}

/** The room of a file: its folder. */
export function roomOf(file) {
  return ONE_ROOM.find((room) => file.startsWith(`${room}/`)) ?? dirname(file);
}

/** Rooms of a plugin, its own folder included. */
export function roomsOf(plugin) {
  return [...new Set(filesOf(plugin).map(roomOf))];
}

/** What a file imports of its own plugin, types included. */
export function importsOf(file) {
  const [, plugin] = file.split("/");
  const text = readFileSync(file, "utf8");
  return [
    ...text.matchAll(/^(?:import|export)\b[^;"]*?from "(\.[^"]+)";|\bimport\("(\.[^"]+)"\)/gm),
  ]
    .map(([, named, called]) => join(dirname(file), named ?? called))
    .filter((path) => path.startsWith(`plugins/${plugin}/`) && existsSync(path));
}

/**
 * Imports from room to room, without the plugin's own folder: what stands there either puts the rooms together, or is ground for all
 * of them.
 */
export function arrowsOf(plugin) {
  const own = join("plugins", plugin);
  const arrows = new Map();
  for (const file of filesOf(plugin))
    for (const path of importsOf(file)) {
      const [from, to] = [roomOf(file), roomOf(path)];
      if (from === to || from === own || to === own) continue;
      arrows.set(`${from} ${to}`, { from, to, by: `${file} -> ${path}` });
    }
  return [...arrows.values()];
}

/** Rooms with the ground first; `undefined` where they import each other in a circle. */
export function inOrder(plugin) {
  const arrows = arrowsOf(plugin);
  const left = new Set(roomsOf(plugin).filter((room) => room !== join("plugins", plugin)));
  const order = [];
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

if (process.argv[1] === import.meta.filename)
  for (const plugin of pluginsWithRooms()) {
    const count = (room) => filesOf(plugin).filter((file) => roomOf(file) === room).length;
    const name = (room) => `${relative(join("plugins", plugin), room)} (${count(room)})`;
    const floors = inOrder(plugin)?.map((rooms) => rooms.map(name).join(", ")) ?? ["a circle"];
    console.log(`${plugin} (${count(join("plugins", plugin))}): ${floors.join(" < ")}`);
  }
