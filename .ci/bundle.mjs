// Puts what Node runs into few files below dist: a process that starts reads and links a third of what it did. The modules of which
// they are made stay, one file each, below dist/modules, for builds that take what they need. npm run build runs it, behind tsc.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "../playground/ready.mjs";

const SOURCE = "@propylon/source";
const SHARED = "shared";
const dist = join(root, "dist");

/** The files that package.json names, by their path below dist without its suffix. */
function entries() {
  const { bin, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const files = Object.values(exports).flatMap((entry) => entry[SOURCE] ?? []);
  const program = bin.propylon.replace("./dist/", "").replace(/js$/, "ts");
  return Object.fromEntries(
    [program, ...files].map((file) => [file.replace(/^\.\/|\.ts$/g, ""), join(root, file)]),
  );
}

const bundle = await rolldown({
  input: entries(),
  platform: "node",
  resolve: { conditionNames: [SOURCE, "node", "import", "default"] },
  // Own code, be it by its public name; packages stay what npm installed.
  external: (id) => !/^(?:\.|\/|[A-Za-z]:\\|propylon(?:$|\/))/.test(id),
});
// Names of files say what is in them.
rmSync(join(dist, SHARED), { recursive: true, force: true });
await bundle.write({
  dir: dist,
  format: "esm",
  sourcemap: true,
  comments: { legal: true, annotation: true, jsdoc: false },
  entryFileNames: "[name].js",
  chunkFileNames: `${SHARED}/[name]-[hash].js`,
});
