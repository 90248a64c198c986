// npm test: installs what is missing, then lint, types and tests. Words behind -- go to vitest: npm test -- test/core/config
import { join } from "node:path";
import { build, install, root, run } from "../playground/ready.mjs";

const tool = (path, ...args) => run(process.execPath, [join(root, "node_modules", path), ...args]);

install();
build();
tool("oxlint/bin/oxlint", "--type-aware", "--quiet");
tool("oxfmt/bin/oxfmt", "--check", ".");
tool("typescript/bin/tsc", "-p", "test");
tool("vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...process.argv.slice(2));
