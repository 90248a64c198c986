// Writes gateway.schema.json, which editors read in a project's node_modules. npm run build runs it, last.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../playground/ready.mjs";

const program = join(root, "dist/plugins/cli.js");
const schema = execFileSync(process.execPath, [program, "schema"], { maxBuffer: 16 * 1024 * 1024 });
writeFileSync(join(root, "gateway.schema.json"), schema);
