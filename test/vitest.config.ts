import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { PATIENCE } from "./fixtures/ci.ts";
import { LongFirst } from "./sequencer.ts";
import { Skipped } from "./skipped.ts";

/** Neither sockets nor children (test/unit-guard.ts sees to it): they share their modules and take every core. */
const UNIT = "test/**/*.unit.test.ts";

/** They measure their process (its heap, its CPU time, its descriptors, its children), or replace a module of it. Each has one of its own. */
const ALONE = "test/**/*.alone{,.long}.test.ts";

/**
 * Kills, signals, loads, builds, whole projects and matrices, and most of what a browser looks at, more than five seconds each.
 * `npm test` leaves them out, `npm test -- --all` does not.
 */
const LONG = process.env["TESTS"] === "short" ? ["test/**/*.long.test.ts"] : [];

const without = (...globs: readonly string[]): string[] => ["**/node_modules/**", ...globs];

const root = fileURLToPath(new URL("..", import.meta.url));

/** Modules are compiled once for all projects, and again only when they change. What `propylon` is in an import, package.json says. */
const compiled = join(
  root,
  "node_modules/.cache/propylon/modules",
  createHash("sha256")
    .update(readFileSync(join(root, "package.json")))
    .digest("hex")
    .slice(0, 12),
);

export default defineConfig({
  resolve: { conditions: ["@propylon/source"] },
  ssr: { resolve: { conditions: ["@propylon/source"] } },
  test: {
    root,
    reporters: [
      "default",
      ...(process.env["GITHUB_ACTIONS"] ? ["github-actions"] : []),
      new Skipped(),
    ],
    globalSetup: "test/build.ts",
    experimental: { fsModuleCache: true, fsModuleCachePath: compiled },
    sequence: { sequencer: LongFirst },
    pool: "forks",
    // Most tests wait for sockets and children: two for each core keep the cores busy. Three are no faster.
    maxWorkers: 2 * availableParallelism(),
    testTimeout: PATIENCE * 120_000,
    hookTimeout: PATIENCE * 120_000,
    // The default of a second is too short for a child process on a machine with other work.
    expect: { poll: { timeout: PATIENCE * 15_000, interval: 20 } },
    dangerouslyIgnoreUnhandledErrors: false,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [UNIT],
          exclude: without(),
          pool: "threads",
          isolate: false,
          setupFiles: ["test/kit/setup.ts", "test/unit-guard.ts", "test/traces.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "parts",
          include: ["test/**/*.test.ts"],
          exclude: without(UNIT, ALONE, ...LONG),
          // To load the modules anew for each file is more work than all the tests.
          isolate: false,
          // The hooks of the last come first.
          setupFiles: ["test/kit/setup.ts", "test/traces.ts", "test/chromium.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: [ALONE],
          exclude: without(...LONG),
          setupFiles: ["test/kit/setup.ts", "test/chromium.ts"],
        },
      },
    ],
  },
});
