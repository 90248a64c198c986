/** Copies of the repository, in which a mutant can be switched on. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "../../../playground/ready.mjs";
import { weave } from "./mutants.mjs";

const SWITCH = join(root, "test/campaign/mutants/switch.ts");

/** A copy for each folder, whose plugins have the mutants in them, built. */
export function copyTo([first, ...others], mutants) {
  copyFiles(first);
  linkPackages(first);
  weaveInto(first, mutants);
  const build = "import('./playground/ready.mjs').then(({ build }) => build())";
  execFileSync(process.execPath, ["-e", build], { cwd: first, stdio: "inherit" });
  for (const other of others)
    cpSync(first, other, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
}

function copyFiles(folder) {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const isOurs = (name) =>
    name !== "" && !name.includes("node_modules") && existsSync(join(root, name));
  for (const file of listed.split("\n").filter(isOurs))
    cpSync(join(root, file), join(folder, file), { recursive: true });
}

/** Each package by itself: those of the repository are the copy's own. */
function linkPackages(folder) {
  const packages = join(root, "node_modules");
  mkdirSync(join(folder, "node_modules"));
  for (const entry of readdirSync(packages, { withFileTypes: true })) {
    if (entry.name === ".cache") continue;
    const path = join(packages, entry.name);
    symlinkSync(
      entry.isSymbolicLink() ? readlinkSync(path) : path,
      join(folder, "node_modules", entry.name),
    );
  }
}

function weaveInto(folder, mutants) {
  cpSync(SWITCH, join(folder, "plugins/mutant.ts"));
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const door = relative(dirname(file), "plugins/mutant.ts").replaceAll("\\", "/");
    const own = mutants.filter((mutant) => mutant.file === file);
    const text = readFileSync(join(root, file), "utf8");
    writeFileSync(join(folder, file), weave(text, own, door.startsWith(".") ? door : `./${door}`));
  }
}
