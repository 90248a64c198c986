import { Command, InvalidArgumentError, Option } from "commander";
import { isGatewayError } from "../kit/errors.ts";
import type { CommandDefinition, CommandFlag, FlagKind, FlagReader } from "../plugin/command.ts";
import { VERSION } from "../kit/version.ts";
import { parseDuration } from "../kit/units.ts";
import { readKey } from "./serving.ts";

/** The command line without its commands. */
export function createProgram(): Command {
  return new Command("propylon")
    .description("Gateway for MCP and A2A.")
    .version(VERSION)
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      "\nWithout a config: propylon -- npx -y @modelcontextprotocol/server-everything\nExit codes: 0 ok, 1 wrong usage or config, 2 unreachable, 3 refused credentials, 5 the tool reported an error.",
    );
}

/** Commands for which the words behind `--` are arguments (POSIX.1-2017, Utility Syntax Guideline 10). */
const TAKING_DASHES = new WeakSet<Command>();

/**
 * What is to be parsed: the words behind `--` only for a command whose arguments they are. Others get them apart.
 *
 * @param own words in front of `--`
 * @param rest words behind it
 */
export function parsedWords(
  program: Command,
  own: readonly string[],
  rest: readonly string[],
): readonly string[] {
  let command = program;
  for (const word of own)
    command = command.commands.find((below) => below.name() === word) ?? command;
  return TAKING_DASHES.has(command) ? [...own, "--", ...rest] : own;
}

/**
 * Adds a command below another.
 *
 * @param rest words behind `--`
 */
export function addCommand(
  parent: Command,
  name: string,
  definition: CommandDefinition,
  rest: readonly string[] | undefined,
): Command {
  const { flags = [], commands = {} } = definition;
  const words = definition.arguments === undefined ? name : `${name} ${definition.arguments}`;
  const command = parent.command(words).description(definition.description);
  if (flags.some(({ flag }) => flag.startsWith("-h,")))
    command.helpOption("--help", "display help for command");
  for (const flag of flags) command.addOption(optionOf(flag));
  for (const [below, each] of Object.entries(commands)) addCommand(command, below, each, rest);
  if (!definition.run) return command;
  const isTaking = definition.dashes === "arguments";
  if (isTaking) TAKING_DASHES.add(command);
  return command.action(async () => {
    const given = (command.processedArgs as (string | string[] | undefined)[])
      .flat()
      .filter((word) => word !== undefined);
    const input = { arguments: given, flags: command.opts(), rest: isTaking ? undefined : rest };
    const code = await definition.run!(input);
    if (code !== undefined) process.exitCode = code;
  });
}

function optionOf(flag: CommandFlag): Option {
  const option = new Option(flag.flag, flag.description)
    .hideHelp(flag.hidden === true)
    .makeOptionMandatory(flag.required === true);
  if (flag.default !== undefined) option.default(flag.default);
  if (flag.env !== undefined) option.env(flag.env);
  if (flag.choices) option.choices(flag.choices);
  if (flag.read === undefined && !flag.repeatable) return option;
  return option.argParser((text: string, before: unknown) => {
    const value = read(flag, text, option.long ?? flag.flag);
    return flag.repeatable ? [...((before as unknown[] | undefined) ?? []), value] : value;
  });
}

function read({ read: reader }: CommandFlag, text: string, name: string): unknown {
  if (reader === undefined) return text;
  try {
    return (typeof reader === "string" ? READERS[reader] : reader)(text, name);
  } catch (error) {
    throw isGatewayError(error) ? error : new InvalidArgumentError((error as Error).message);
  }
}

/** Wrong usage is told with the command that lists what is right. */
export function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`See ${words} --help.`);
  for (const each of command.commands) pointToHelp(each, `${words} ${each.name()}`);
}

/** How the text of each kind of flag is read. */
const READERS: Readonly<Record<FlagKind, FlagReader>> = {
  port: readPort,
  duration: readDuration,
  url: readUrl,
  key: readKey,
  variable: readVariable,
};

/** Whether a text is a whole http or https URL. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

const MOST = 1_000;

/**
 * Reads the value of a flag that counts something: a whole number from 1 to 1,000.
 *
 * @throws {Error} for anything else; a flag's `read` says which flag it was
 */
export function readCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= MOST) return count;
  throw new Error(`It must be a whole number from 1 to ${MOST}.`);
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Error("It must be a number from 0 to 65535.");
  return Number(text);
}

function readDuration(text: string): string {
  if (parseDuration(text, "s") === undefined)
    throw new Error("It must be a duration such as 30s, 1500ms or 10m.");
  return text;
}

function readUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new Error("It must be a URL such as http://127.0.0.1:8080.");
}

function readVariable(text: string): readonly [name: string, value: string] {
  const [, name, given] = /^([^=\0]+)(?:=([^\0]*))?$/s.exec(text) ?? [];
  if (name === undefined) throw new Error("It must be NAME or NAME=value.");
  const value = given ?? process.env[name];
  if (value === undefined) throw new Error(`The variable ${name} is not set.`);
  return [name, value];
}
