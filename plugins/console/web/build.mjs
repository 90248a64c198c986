// Builds the modules of panels into dist/plugins/console: one module that holds their text. npm run build runs it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const target = path("../../../dist/plugins/console/panel-modules.js");

const [{ output }] = await build({
  root: path("."),
  configFile: false,
  logLevel: "error",
  build: {
    write: false,
    target: "es2022",
    minify: true,
    lib: { entry: path("chat.ts"), formats: ["es"] },
  },
});
if (output.length !== 1) throw new Error(`The page Chat has ${output.length} files.`);
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, `export const chat = ${JSON.stringify(output[0].code)};\n`);
