// Bundles create-gateway to one file without dependencies, with the licences of what is in it beside it: node build.mjs [folder]
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = process.argv[2] ?? path("dist");
const bundle = await rolldown({ input: path("src/main.ts"), platform: "node" });
const { output } = await bundle.write({
  file: join(folder, "create-gateway.mjs"),
  format: "esm",
  minify: true,
});
await bundle.close();
if (output.length !== 1) throw new Error(`The bundle has ${output.length} files.`);
writeFileSync(join(folder, "THIRD-PARTY.txt"), noticesOf(Object.keys(output[0].modules)));

/** MIT and ISC want their text to go wherever the code goes. */
function noticesOf(modules) {
  const folders = modules.flatMap(
    (id) => /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0] ?? [],
  );
  const notices = Array.from(new Set(folders), (from) => {
    const { name, version, license } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
    const file = readdirSync(from).find((each) => /^licen[cs]e/i.test(each));
    if (!file) throw new Error(`${name} has no licence file.`);
    const text = readFileSync(join(from, file), "utf8").trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  }).toSorted();
  const line = `\n${"-".repeat(78)}\n\n`;
  return `create-gateway.mjs contains code of these packages.\n${line}${notices.join(line)}`;
}
