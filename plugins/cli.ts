#!/usr/bin/env node
// The command line `propylon`: where core, which knows no plugin, is given the commands of those that come along.
import { main } from "../core/cli/main.ts";
import { COMMANDS } from "./commands.ts";

await main(process.argv.slice(2), COMMANDS);
