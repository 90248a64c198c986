// npm run pack [-- folder]: both packages as they are published, one tarball each; default folder: packages.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { install, root } from "../playground/ready.mjs";

const folder = resolve(process.argv[2] ?? join(root, "packages"));
install();
mkdirSync(folder, { recursive: true });
for (const own of [".", "templates"]) {
  const tarball = pack(join(root, own));
  checkPrograms(tarball, join(root, own, "package.json"));
  console.log(join(folder, tarball.filename));
}

/** The project's .npmrc lets no script run, and without `prepack` npm packs what happens to be there. */
function pack(cwd) {
  const words = ["pack", "--json", "--ignore-scripts=false", "--foreground-scripts=false"];
  const stdio = ["ignore", "pipe", "inherit"];
  const output = execFileSync("npm", [...words, "--pack-destination", folder], { cwd, stdio });
  return Object.values(JSON.parse(output.toString()))[0];
}

/** npm says nothing when a file of `bin` is missing. */
function checkPrograms({ filename, files }, manifest) {
  const packed = new Set(files.map(({ path }) => path));
  const programs = Object.values(JSON.parse(readFileSync(manifest, "utf8")).bin);
  const missing = programs.find((path) => !packed.has(path.replace("./", "")));
  if (missing) throw new Error(`${filename} is without its program ${missing}.`);
}
