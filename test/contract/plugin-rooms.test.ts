import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { arrowsOf, filesOf, importsOf, inOrder, pluginsWithRooms, roomOf } from "./plugin-rooms.ts";

const PLUGINS = pluginsWithRooms();
/** Files in a folder that a newcomer takes in at once. */
const MAX_FILES = 20;

it("issue 41 line 1: plugins have rooms", () => {
  expect(PLUGINS).toEqual(expect.arrayContaining(["a2a", "mcp", "nats", "oauth", "servers"]));
  expect(PLUGINS.flatMap(arrowsOf).length).toBeGreaterThan(60);
});

it.each(PLUGINS)(
  "issue 41 line 1: the rooms of %s import each other in one direction",
  (plugin) => {
    expect(inOrder(plugin) ?? arrowsOf(plugin).map(({ by }) => by)).toEqual(expect.any(Array));
    expect(inOrder(plugin)).toBeDefined();
  },
);

it.each(PLUGINS)(
  "issue 41 line 1: what a room of %s takes from the plugin's own folder needs no room",
  (plugin) => {
    const own = join("plugins", plugin);
    const isOwn = (file: string): boolean => roomOf(file) === own;
    // Options of rooms are put together in one file, which all of them read.
    const isOptions = (file: string): boolean => file.endsWith("/options.ts");
    const reached = (file: string, seen = new Set<string>()): Set<string> => {
      if (seen.has(file) || isOptions(file)) return seen;
      seen.add(file);
      for (const path of importsOf(file)) reached(path, seen);
      return seen;
    };
    const wrong = filesOf(plugin)
      .filter((file) => !isOwn(file))
      .flatMap((file) =>
        importsOf(file)
          .filter(isOwn)
          .filter((path) => [...reached(path)].some((next) => !isOwn(next)))
          .map((path) => `${file} -> ${path}`),
      );
    expect(wrong).toEqual([]);
  },
);

it("issue 41 line 1: no folder of plugins has more files than somebody takes in", () => {
  const folders = readdirSync("plugins", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name));
  const files = (folder: string): number =>
    readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).length;
  expect(folders.filter((folder) => files(folder) > MAX_FILES)).toEqual([]);
});

it.each(["servers", "team-auth", "mcp", "oauth", "nats", "oauth-client", "a2a", "ui"])(
  "issue 41 line 1: a page of %s says what to read, in which order",
  (plugin) => {
    const page = readFileSync(join("plugins", plugin, "README.md"), "utf8");
    expect(page.split("\n").length).toBeLessThanOrEqual(31);
    const paths = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) =>
      join("plugins", plugin, path!),
    );
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) expect(() => readFileSync(path)).not.toThrow();
  },
);
