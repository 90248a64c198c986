import { expect, it } from "vitest";
import { propylonEach } from "../core/cli/propylon.ts";
import { expectPage, page } from "./page.ts";

const COMMANDS = [
  "start",
  "dev",
  "check",
  "graph",
  "build",
  "schema",
  "tools",
  "call",
  "client-config",
  "key",
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
  const commands = [...COMMANDS, ...BELOW];
  const lines = commands.map((name) => [...name.split(" "), "--help"]);
  const env = { COLUMNS: "100", NO_COLOR: "1" };
  const finished = await propylonEach([["--help"], ...lines], { env });
  const [overview = "", ...helps] = finished.map(({ stdout }) => stdout.trimEnd());
  const listed = [...overview.matchAll(/^ {2}([a-z-]+) (?:\[|<)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "help");
  expect(listed).toEqual(COMMANDS);
  const sections = commands.map((name, index) => `## propylon ${name}\n\n${block(helps[index]!)}`);
  expectPage("cli.md", page("Command line", block(overview), OF_PLUGINS, ...sections));
});

const OF_PLUGINS =
  "A plugin of your own can [bring commands](writing-plugins.md#a-command). In the folder of its config, `propylon --help` lists them as well, and `propylon <command>` runs them; the commands above keep their names.";

const block = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;
