/** node test/contract/lines.mjs: how many lines core has, by room and by group. */
import { readdirSync, readFileSync } from "node:fs";

/** What a gateway made in code is made of; the rest of core stands above it or beside it. */
export const GROUPS = {
  kit: ["kit"],
  kernel: ["call", "config", "plugin", "server", "http", "gateway"],
  "what the kernel stands on, or loads when it is asked for": ["store", "http/websocket"],
  batteries: [
    "gateway/management",
    "server/sdk",
    "kit/process",
    "file",
    "workers",
    "build",
    "cli",
    "testing",
  ],
};

const PLACES = Object.values(GROUPS).flat();

/** Whether a file of a room is of a battery within it. */
function isOfBattery(room, name) {
  return PLACES.some(
    (place) => place.startsWith(`${room}/`) && `${room}/${name}`.startsWith(`${place}/`),
  );
}

/** Files, lines, and lines that are neither blank nor comments. */
export function measure(room) {
  const files = readdirSync(`core/${room}`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !isOfBattery(room, name))
    .map((name) => readFileSync(`core/${room}/${name}`, "utf8"));
  const code = files.map((text) => text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, ""));
  return {
    files: files.length,
    lines: sum(files.map((text) => text.split("\n").length - 1)),
    code: sum(code.map((text) => text.split("\n").filter((line) => line.trim() !== "").length)),
  };
}

/** The same for each group. */
export function report() {
  return Object.entries(GROUPS).map(([group, rooms]) => {
    const all = rooms.map((room) => ({ room, ...measure(room) }));
    const total = (key) => sum(all.map((each) => each[key]));
    return { group, files: total("files"), lines: total("lines"), code: total("code"), rooms: all };
  });
}

function sum(numbers) {
  return numbers.reduce((all, each) => all + each, 0);
}

if (process.argv[1] === import.meta.filename) {
  const groups = report();
  for (const { group, files, lines, code, rooms } of groups) {
    console.log(`${group}: ${lines} lines, ${code} of code, ${files} files`);
    for (const each of rooms)
      console.log(`  ${each.room}: ${each.lines} lines, ${each.code} of code, ${each.files} files`);
  }
  console.log(`core: ${sum(groups.map(({ lines }) => lines))} lines`);
}
