import { expect, it } from "vitest";
import { doorsOf, importedName, originOf, pathImports, testFiles } from "./doors.ts";
import { selfImports } from "./imports.ts";

/** Replaced or measured modules must not be loaded by way of a door, which loads more. */
const PATHS = /\.alone\.|^test\/core\/testing\/|websocket-load/;

/** Doors that stand as files, too: core/index.ts and the like, and the index of a plugin. */
const DOORS = new Set(selfImports().values());

/** Files with private imports, by folder. */
const COUNTS: Readonly<Record<string, number>> = {
  "test/contract": 17,
  "test/core": 3,
  "test/core/call": 5,
  "test/core/cli": 5,
  "test/core/config": 19,
  "test/core/gateway": 5,
  "test/core/http": 5,
  "test/core/kit": 10,
  "test/core/plugin": 4,
  "test/core/process": 5,
  "test/core/server": 6,
  "test/core/store": 8,
  "test/core/workers": 2,
  "test/create-gateway": 1,
  "test/e2e": 23,
  "test/fixtures": 2,
  "test/plugins": 3,
  "test/plugins/a2a": 12,
  "test/plugins/a2a-client": 1,
  "test/plugins/a2a-contract": 1,
  "test/plugins/a2a-standard": 7,
  "test/plugins/access": 2,
  "test/plugins/admin": 8,
  "test/plugins/agents": 3,
  "test/plugins/agents-loop": 12,
  "test/plugins/breaker": 1,
  "test/plugins/conformance": 7,
  "test/plugins/console": 3,
  "test/plugins/events": 7,
  "test/plugins/gating": 4,
  "test/plugins/health": 6,
  "test/plugins/history": 2,
  "test/plugins/keys": 6,
  "test/plugins/lifecycle": 7,
  "test/plugins/mcp": 19,
  "test/plugins/metrics": 1,
  "test/plugins/nats": 3,
  "test/plugins/oauth": 5,
  "test/plugins/oauth-client": 8,
  "test/plugins/oauth-resource": 3,
  "test/plugins/openapi": 10,
  "test/plugins/payloads": 6,
  "test/plugins/postgres": 2,
  "test/plugins/progress": 2,
  "test/plugins/ratelimit": 4,
  "test/plugins/redis": 2,
  "test/plugins/registry": 1,
  "test/plugins/servers": 24,
  "test/plugins/sessions": 2,
  "test/plugins/sidecar": 2,
  "test/plugins/sqlite": 2,
  "test/plugins/tasks": 1,
  "test/plugins/team-auth": 12,
  "test/plugins/telemetry": 1,
  "test/plugins/ui": 7,
};

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

it("no folder has more files with private imports than there were: this list only shrinks", () => {
  const files = new Set(privateImports.map(({ file }) => file));
  const counts: Record<string, number> = {};
  for (const file of files) counts[folderOf(file)] = (counts[folderOf(file)] ?? 0) + 1;
  expect(counts).toEqual(COUNTS);
});

/** test/core/http, test/plugins/mcp, test/e2e. */
const folderOf = (file: string): string =>
  /^test\/(?:core|plugins)\/[^/]+(?=\/)|^test\/[^/]+/.exec(file)![0];
