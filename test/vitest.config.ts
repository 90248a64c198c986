import { defineConfig } from "vitest/config";

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
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
