import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { PATIENCE } from "./fixtures/ci.ts";
import { ALONE, LONG, UNIT } from "./projects.ts";
import { SlowestFirst } from "./sequencer.ts";
import { Skipped } from "./skipped.ts";

const without = (...lists: (readonly string[])[]): string[] => [
  "**/node_modules/**",
  ...lists.flat(),
];

export default defineConfig({
  resolve: { conditions: ["@propylon/source"] },
  ssr: { resolve: { conditions: ["@propylon/source"] } },
  test: {
    root: new URL("..", import.meta.url).pathname,
    reporters: [
      "default",
      ...(process.env["GITHUB_ACTIONS"] ? ["github-actions"] : []),
      new Skipped(),
    ],
    globalSetup: "test/build.ts",
    sequence: { sequencer: SlowestFirst },
    pool: "forks",
    // Most tests wait for sockets and children: two for each core keep the cores busy.
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
          include: [...UNIT],
          exclude: without(LONG),
          pool: "threads",
          isolate: false,
          setupFiles: ["test/unit-guard.ts", "test/traces.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "parts",
          include: ["test/**/*.test.ts"],
          exclude: without(UNIT, ALONE, LONG),
          // To load the modules anew for each file is more work than all the tests.
          isolate: false,
          setupFiles: "test/traces.ts",
        },
      },
      { extends: true, test: { name: "alone", include: [...ALONE], exclude: without() } },
      { extends: true, test: { name: "long", include: [...LONG], exclude: without() } },
    ],
  },
});
