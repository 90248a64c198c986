// npm test: installs what is missing, then lint, types, and all tests but the long ones (*.long.test.ts); npm test -- --all: these,
// too. Other words behind -- go to vitest, which then runs those tests and nothing else: npm test -- test/core/config
import { join } from "node:path";
import { build, install, root, run } from "../playground/ready.mjs";

const tool = (path, ...args) => run(process.execPath, [join(root, "node_modules", path), ...args]);

const words = process.argv.slice(2);
const isAll = words.join(" ") === "--all";

install();
if (isAll || words.length === 0) {
  // Before the build: a fresh clone has none yet, and its types are right all the same. One after the other: each needs 2.5 GB.
  // What has not changed since the last run is not checked again.
  for (const part of ["test", "plugins/ui/web"]) {
    const known = join(root, "node_modules/.cache/propylon/checked", part, "types");
    tool("typescript/bin/tsc", "-p", part, "--incremental", "--tsBuildInfoFile", known);
  }
  tool("oxlint/bin/oxlint", "--type-aware", "--quiet");
  tool("oxfmt/bin/oxfmt", "--check", ".");
}
build();
if (words.length === 0) process.env["TESTS"] = "short";
tool("vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...(isAll ? [] : words));
