#!/usr/bin/env node
import { Command, CommanderError } from "commander";
import { VERSION } from "../version.ts";
import { describeAuthoring } from "./authoring.ts";
import { describeConformance } from "./conformance-flags.ts";
import { EXIT, tellFailure } from "./exit.ts";
import { describeServing } from "./serving.ts";
import { describeSidecar } from "./sidecar-flags.ts";
import { describeTalking } from "./talking.ts";

/** What stands behind `--`: the command of a server to run without a config. */
interface Split {
  readonly own: string[];
  readonly command: string[] | undefined;
}

function splitAtDashes(words: readonly string[]): Split {
  const index = words.indexOf("--");
  return index === -1
    ? { own: [...words], command: undefined }
    : { own: words.slice(0, index), command: words.slice(index + 1) };
}

function createProgram(command: readonly string[] | undefined): Command {
  const program = new Command("propylon")
    .description("Gateway for MCP and A2A.")
    .version(VERSION)
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      "\nWithout a config: propylon -- npx -y @modelcontextprotocol/server-everything\nExit codes: 0 ok, 1 wrong usage or config, 2 unreachable, 3 refused credentials, 5 the tool reported an error.",
    );
  describeServing(program, command);
  describeSidecar(program.command("sidecar"), command);
  describeAuthoring(program);
  describeTalking(program);
  describeConformance(program.command("conformance"), command);
  pointToHelp(program, "propylon");
  return program;
}

/** Wrong usage is told with the command that lists what is right. */
function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`See ${words} --help.`);
  for (const each of command.commands) pointToHelp(each, `${words} ${each.name()}`);
}

/** Runs the command line; never throws. */
async function main(words: readonly string[]): Promise<void> {
  const { own, command } = splitAtDashes(words);
  const program = createProgram(command);
  // `propylon -- npx server` is `propylon start -- npx server`.
  const first = own.find((word) => !word.startsWith("-"));
  const isNamed = program.commands.some((known) => known.name() === first);
  try {
    await program.parseAsync(command !== undefined && !isNamed ? ["start", ...own] : own, {
      from: "user",
    });
  } catch (error) {
    // Commander has printed its sentence already; its code is 0 for --help and --version.
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.invalid;
    else process.exitCode = tellFailure(error);
  }
}

// Whoever reads this may have seen enough, e.g. head; that is no failure, and no stack is to be shown.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
await main(process.argv.slice(2));
