// npm test: installs what is missing, then lint, types, and the tests of all projects but long (test/projects.ts). Words behind -- go to
// vitest, which then runs those tests and nothing else: npm test -- test/core/config, npm test -- --project long
import { join } from "node:path";
import { build, install, root, run } from "../playground/ready.mjs";

const tool = (path, ...args) => run(process.execPath, [join(root, "node_modules", path), ...args]);

const words = process.argv.slice(2);

install();
build();
if (words.length === 0) {
  tool("oxlint/bin/oxlint", "--type-aware", "--quiet");
  tool("oxfmt/bin/oxfmt", "--check", ".");
  tool("typescript/bin/tsc", "-p", "test");
  tool("typescript/bin/tsc", "-p", "plugins/ui/web");
}
const chosen =
  words.length === 0 ? ["unit", "parts", "alone"].flatMap((name) => ["--project", name]) : words;
tool("vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...chosen);
