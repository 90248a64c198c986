import { defineConfig } from "vitest/config";
import { LONG, UNIT } from "./projects.ts";
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
    pool: "forks",
    // All cores: by default one is left free.
    maxWorkers: "100%",
    testTimeout: 40_000,
    hookTimeout: 40_000,
    // The default of a second is too short for a child process on a machine with other work.
    expect: { poll: { timeout: 15_000, interval: 20 } },
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
          setupFiles: "test/unit-guard.ts",
        },
      },
      {
        extends: true,
        test: { name: "parts", include: ["test/**/*.test.ts"], exclude: without(UNIT, LONG) },
      },
      { extends: true, test: { name: "long", include: [...LONG], exclude: without() } },
    ],
  },
});
