// Bundles create-gateway to one file without dependencies.
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const bundle = await rolldown({ input: path("src/main.ts"), platform: "node" });
await bundle.write({ file: path("dist/create-gateway.mjs"), format: "esm", minify: true });
await bundle.close();
