/** How gateways of others come to this machine: each to a folder of its own below test/bench/peers, which git ignores. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("peers/", import.meta.url));
/** A build that takes longer counts as not there. */
const LIMIT_MS = 180_000;

/** A package of npm. Its scripts of installation do not run. */
export function npm(name, wanted, program = name) {
  const folder = join(FOLDER, "npm", name.replaceAll("/", "-"));
  const own = join(folder, "node_modules", name);
  const manifest = () => JSON.parse(readFileSync(join(own, "package.json"), "utf8"));
  const flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  return {
    folder,
    wanted,
    steps: [["npm", "install", ...flags, "--prefix", folder, `${name}@${wanted}`]],
    version: () => (existsSync(own) ? manifest().version : undefined),
    command() {
      const { bin } = manifest();
      return [process.execPath, join(own, typeof bin === "string" ? bin : bin[program])];
    },
  };
}

/** A program of a Go module, built here. */
export function go(path, wanted, program) {
  const folder = join(FOLDER, "go", program);
  const file = join(folder, program);
  return {
    folder,
    wanted,
    env: { GOBIN: folder },
    steps: [["go", "install", `${path}@${wanted}`]],
    version: () =>
      existsSync(file)
        ? /\tmod\t\S+\t(\S+)/.exec(said("go", "version", "-m", file))?.[1]
        : undefined,
    command: () => [file],
  };
}

/**
 * A package of PyPI in an environment of its own.
 * @param bounds of what it depends on, where it says none and the newest breaks it
 */
export function pip(name, wanted, { program = name, bounds = [] } = {}) {
  const folder = join(FOLDER, "pip", name);
  const run = join(folder, "bin", program);
  return {
    folder,
    wanted,
    steps: [
      ["python3", "-m", "venv", folder],
      [join(folder, "bin", "pip"), "install", "--quiet", `${name}==${wanted}`, ...bounds],
    ],
    version: () => (existsSync(run) ? versionIn(folder, name) : undefined),
    command: () => [run],
  };
}

/** What pip has noted beside the package: asking Python takes half a second. */
function versionIn(folder, name) {
  const libraries = join(folder, "lib");
  const prefix = `${name.replaceAll("-", "_")}-`;
  return readdirSync(libraries)
    .flatMap((python) => readdirSync(join(libraries, python, "site-packages")))
    .find((entry) => entry.startsWith(prefix) && entry.endsWith(".dist-info"))
    ?.slice(prefix.length, -".dist-info".length);
}

/** A program that somebody has built: named by a variable of the environment, or found on PATH. */
export function byHand(variable, program) {
  const places = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, program));
  const file = process.env[variable] ?? places.find((place) => existsSync(place));
  return {
    steps: [],
    reason: `no ${program} on PATH, and ${variable} names none`,
    version: () => (file === undefined ? undefined : said(file, "--version").trim().split("\n")[0]),
    command: () => [file],
  };
}

function said(command, ...args) {
  return spawnSync(command, args, { encoding: "utf8" }).stdout ?? "";
}

/** Installs what is not there yet. @returns why it is not there then; `undefined` where it is */
export function install({ folder, steps, version, wanted, env, reason }) {
  if (version() !== undefined && (wanted === undefined || version() === wanted)) return undefined;
  if (steps.length === 0) return reason;
  mkdirSync(folder, { recursive: true });
  for (const [command, ...args] of steps) {
    const failure = failureOf(command, args, { ...process.env, ...env });
    if (failure) return failure;
  }
  return version() === undefined ? "installed without its program" : undefined;
}

function failureOf(command, args, env) {
  const stdio = ["ignore", "ignore", "pipe"];
  const done = spawnSync(command, args, { env, stdio, encoding: "utf8", timeout: LIMIT_MS });
  if (done.error?.code === "ENOENT") return `no ${command} on this machine`;
  if (done.error?.code === "ETIMEDOUT") return `not installed within ${LIMIT_MS / 1_000} s`;
  if (done.status === 0) return undefined;
  return `${command} failed: ${firstError(done.stderr)}`;
}

/** The line that says what was wrong, without what the tool says of itself. */
function firstError(text = "") {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (
    lines.find((line) => /error|not found|refused|denied|: \d{3} /i.test(line)) ??
    lines[0] ??
    ""
  ).slice(0, 200);
}
