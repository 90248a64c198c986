import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { main } from "../e2e/build.ts";
import { expectPage, page } from "./page.ts";

const COMMANDS = [
  "start",
  "dev",
  "check",
  "graph",
  "build",
  "schema",
  "key",
  "tools",
  "call",
  "client-config",
  "mcpo",
  "sidecar",
  "import",
  "calls",
  "stderr",
  "login",
  "logout",
];

/** Listed below a command of their own. */
const BELOW = ["plugin new", "conformance runtime", "conformance mcp", "conformance fixture"];

it("the page of the command line is current and has every command", async () => {
  const help = async (...words: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [main, ...words, "--help"], {
      env: { ...process.env, COLUMNS: "100", NO_COLOR: "1" },
    });
    return stdout.trimEnd();
  };
  const overview = await help();
  const listed = [...overview.matchAll(/^ {2}([a-z-]+) (?:\[|<)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "help");
  expect(listed).toEqual(COMMANDS);
  const sections = await Promise.all(
    [...COMMANDS, ...BELOW].map(
      async (name) => `## propylon ${name}\n\n${block(await help(...name.split(" ")))}`,
    ),
  );
  expectPage("cli.md", page("Command line", block(overview), OF_PLUGINS, ...sections));
});

const OF_PLUGINS =
  "A plugin of your own can [bring commands](../guide/write-a-plugin.md#a-command). In the folder of its config, `propylon --help` lists them as well, and `propylon <command>` runs them; the commands above keep their names.";

const block = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;
