#!/usr/bin/env node
// The command line `propylon`: where core, which does not know any plugin, is given the commands of those that come along.
import { keepCompiledCode } from "../core/cli/compile-cache.ts";

keepCompiledCode();
// Not before it: what is imported with a module is compiled before the module runs.
const { main } = await import("../core/cli/main.ts");
const { COMMANDS } = await import("./commands.ts");

await main(process.argv.slice(2), COMMANDS);
