import { Command, InvalidArgumentError, Option } from "commander";
import { isGatewayError } from "../errors.ts";
import type { CommandDefinition, CommandFlag } from "../plugin/command.ts";
import { VERSION } from "../version.ts";
import { READERS } from "./readers.ts";

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
  return command.action(async () => {
    const given = (command.processedArgs as (string | string[] | undefined)[])
      .flat()
      .filter((word) => word !== undefined);
    const code = await definition.run!({ arguments: given, flags: command.opts(), rest });
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
