// npm test: installs what is missing, then lint, types, and the tests of all projects but long (test/projects.ts); npm test -- --all:
// these, too. Other words behind -- go to vitest, which then runs those tests and nothing else: npm test -- test/core/config
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { build, install, root, run } from "../playground/ready.mjs";

const tool = (path, ...args) => [join(root, "node_modules", path), ...args];

const words = process.argv.slice(2);
const isAll = words.join(" ") === "--all";
const isWhole = isAll || words.length === 0;

install();
// Before the build: a fresh clone has none yet, and its types are right all the same.
if (isWhole) await checkSources();
build();
run(
  process.execPath,
  tool("vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...chosen()),
);

/** Beside each other, since each alone keeps only a part of the machine busy. Ends this process when one of them fails. */
async function checkSources() {
  const codes = await Promise.all([
    check(tool("oxlint/bin/oxlint", "--type-aware", "--quiet")),
    check(tool("typescript/bin/tsc", "-p", "test")),
    check(tool("typescript/bin/tsc", "-p", "plugins/ui/web")),
    check(tool("typescript/bin/tsc", "-p", "plugins/console/web")),
    check(tool("oxfmt/bin/oxfmt", "--check", ".")),
  ]);
  if (codes.some((code) => code !== 0)) process.exit(1);
}

async function check(args) {
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: "inherit" }), "exit");
  return code;
}

function chosen() {
  if (isAll) return [];
  if (words.length > 0) return words;
  return ["unit", "parts", "alone"].flatMap((name) => ["--project", name]);
}
