// Puts what Node runs into few files below dist: a process that starts reads and links a third of what it did. The modules of which
// they are made stay, one file each, below dist/modules, for builds that take what they need. npm run build runs it, behind tsc.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

const resolve = { conditionNames: [SOURCE, "node", "import", "default"] };
const bundle = await rolldown({
  input: entries(),
  platform: "node",
  resolve,
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
  // What each start reads is one file: by themselves the parts that a start shares with other commands would be 80.
  codeSplitting: {
    groups: [
      { name: "program", test: /core[\\/]cli[\\/]main\.ts$/, priority: 2 },
      { name: "gateway", test: /core[\\/]file[\\/]create-file-gateway\.ts$/, priority: 1 },
      // Plugins that each gateway has without a word in its config.
      { name: "defaults", test: /plugins[\\/](?:keys|mcp|servers|tasks)[\\/]index\.ts$/ },
    ],
  },
  chunkFileNames: `${SHARED}/[name]-[hash].js`,
});

/** A thread begins with a text, so that it also does in a build of one file: with all that it needs, the parser of YAML, too. */
async function writeThread(source, target) {
  const thread = await rolldown({ input: join(root, source), platform: "node", resolve });
  const { output } = await thread.generate({ format: "cjs", minify: true, comments: false });
  const file = join(dist, target);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `export const program = ${JSON.stringify(output[0].code)};\n`);
}
await writeThread("plugins/rest/reading/worker.ts", "plugins/rest/reader-module.js");
