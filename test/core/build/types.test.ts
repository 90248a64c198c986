import { symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { Folders, run } from "./kit.ts";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const TSC = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
);

const folders = new Folders();
afterAll(() => folders.remove());

it("types the plugin of each bundler for those who use it", async () => {
  const cwd = await folders.project({
    "package.json": `{ "type": "module" }`,
    "tsconfig.json": `{
      "compilerOptions": {
        "module": "NodeNext", "target": "ES2023", "strict": true, "noEmit": true, "skipLibCheck": true, "types": []
      }
    }`,
    "bundlers.ts": `
import propylon from "propylon/unplugin";
import type { Plugin as RolldownPlugin } from "rolldown";
import { defineConfig } from "vite";

export const rolldown = propylon.rolldown({ config: "gateway.yaml" }) satisfies RolldownPlugin | RolldownPlugin[];
export default defineConfig({ plugins: [propylon.vite()] });
// @ts-expect-error the config is a path
propylon.esbuild({ config: 1 });
`,
  });
  for (const name of ["unplugin", "rolldown", "vite"])
    await symlink(join(MODULES, name), join(cwd, "node_modules", name));
  const checked = await run([TSC, "-p", "."], cwd);
  expect(checked).toEqual({ code: 0, stdout: "", stderr: "" });
});
