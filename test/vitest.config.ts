import { defineConfig } from "vitest/config";
import { Skipped } from "./skipped.ts";

export default defineConfig({
  resolve: { conditions: ["@propylon/source"] },
  ssr: { resolve: { conditions: ["@propylon/source"] } },
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    typecheck: {
      enabled: true,
      include: ["test/types/**/*.test-d.ts"],
      tsconfig: "test/tsconfig.json",
    },
    reporters: [
      "default",
      ...(process.env["GITHUB_ACTIONS"] ? ["github-actions"] : []),
      new Skipped(),
    ],
    globalSetup: "test/build.ts",
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 40_000,
    hookTimeout: 40_000,
    // The default of a second is too short for a child process on a machine with other work.
    expect: { poll: { timeout: 15_000, interval: 20 } },
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
