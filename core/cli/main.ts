import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CommanderError, Help, type Command } from "commander";
import { CONFIG_NAMES } from "../file/file-names.ts";
import type { CommandDefinition } from "../plugin/command.ts";
import { AUTHORING_COMMANDS } from "./authoring.ts";
import { EXIT, tellFailure } from "./exit.ts";
import { addCommand, createProgram, parsedWords, pointToHelp } from "./program.ts";
import { SERVING_COMMANDS } from "./serving.ts";

/** A command of a plugin that comes along, known by its line in the help until it is wanted. */
export interface BundledCommand {
  /** As in its definition. */
  readonly description: string;
  /** What the help shows behind its name, e.g. `[options] <file>`; default: nothing. */
  readonly usage?: string;
  /** The command that the plugin declares. */
  load(): Promise<CommandDefinition>;
}

/** Commands of plugins that come along, by name. */
export type BundledCommands = Readonly<Record<string, BundledCommand>>;

const GENERAL = { ...SERVING_COMMANDS, ...AUTHORING_COMMANDS };

/** The words after `--`: the command of a server to run without a config, or of a runtime; arguments for some commands. */
interface Split {
  readonly own: string[];
  readonly rest: string[] | undefined;
}

function splitAtDashes(words: readonly string[]): Split {
  const index = words.indexOf("--");
  return index === -1
    ? { own: [...words], rest: undefined }
    : { own: words.slice(0, index), rest: words.slice(index + 1) };
}

/**
 * Runs the command line; never throws.
 *
 * @param words without node and the file
 * @param bundled commands of plugins that come along; only the one that is asked for is loaded
 */
export async function main(words: readonly string[], bundled: BundledCommands): Promise<void> {
  // The reader may have seen enough, e.g. head; that is not a failure, and no stack is to be shown.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const { own, rest } = splitAtDashes(words);
  const program = createProgram();
  try {
    for (const [name, each] of Object.entries(GENERAL)) addCommand(program, name, each, rest);
    await addBundled(program, bundled, commandOf(own), rest);
    if (isForProject(program, own, rest)) await addProject(program, rest);
    pointToHelp(program, "propylon");
    // `propylon -- npx server` is `propylon start -- npx server`.
    const isNamed = has(program, commandOf(own));
    const named = rest !== undefined && !isNamed ? ["start", ...own] : own;
    await program.parseAsync(parsedWords(program, named, rest ?? []), { from: "user" });
  } catch (error) {
    // Commander has printed its sentence already; its code is 0 for --help and --version.
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.invalid;
    else process.exitCode = tellFailure(error);
  }
}

/** The command that the arguments name, also by `propylon help <command>`. */
function commandOf(own: readonly string[]): string | undefined {
  const [first, second] = own.filter((word) => !word.startsWith("-"));
  return first === "help" ? second : first;
}

function has(program: Command, name: string | undefined): boolean {
  return program.commands.some((known) => known.name() === name);
}

async function addBundled(
  program: Command,
  bundled: BundledCommands,
  wanted: string | undefined,
  rest: readonly string[] | undefined,
): Promise<void> {
  const help = new Help();
  const usages = new Map<Command, string>();
  for (const [name, each] of Object.entries(bundled)) {
    const definition = name === wanted ? await each.load() : { description: each.description };
    const command = addCommand(program, name, definition, rest).helpGroup("Commands of plugins:");
    usages.set(command, each.usage === undefined ? name : `${name} ${each.usage}`);
  }
  program.configureHelp({
    subcommandTerm: (command) => usages.get(command) ?? help.subcommandTerm(command),
  });
}

/** Whether the plugins of the config in this folder are asked: for a command nobody has, and for the list of all. */
function isForProject(
  program: Command,
  own: readonly string[],
  rest: readonly string[] | undefined,
): boolean {
  const [first] = own;
  if (first === undefined) return rest === undefined;
  if (first === "-h" || first === "--help") return true;
  return !first.startsWith("-") && !has(program, commandOf(own));
}

async function addProject(program: Command, rest: readonly string[] | undefined): Promise<void> {
  const file = CONFIG_NAMES.map((name) => resolve(name)).find((path) => existsSync(path));
  if (file === undefined) return;
  const { findProjectCommands } = await import("./project.ts");
  const taken = new Set(["help", ...program.commands.map((known) => known.name())]);
  const { commands, problems } = await findProjectCommands(file, taken);
  for (const problem of problems) console.error(problem);
  for (const [name, definition] of commands)
    addCommand(program, name, definition, rest).helpGroup("Commands of this project:");
}
