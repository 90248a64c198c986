import { checkDefinition } from "../gateway/check/check.ts";
import { dirname } from "node:path";
import { FIRST_PARTY } from "../gateway/check/first-party.ts";
import { readPluginKeys } from "../file/load.ts";
import { PluginSource } from "../gateway/check/resolve.ts";
import type { CommandDefinition } from "../plugin/command.ts";
import { failureText } from "./exit.ts";

/** Commands of the plugins of a project. */
export interface ProjectCommands {
  readonly commands: ReadonlyMap<string, CommandDefinition>;
  /** Why others are not there: sentences. */
  readonly problems: readonly string[];
}

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/**
 * Asks the plugins of a config for their commands. Their modules are loaded, and nothing is set up: what else is
 * wrong with the config does no harm. Plugins that come with Propylon are known without.
 *
 * @param file path of the config
 * @param taken names that are not to be had
 */
export async function findProjectCommands(
  file: string,
  taken: ReadonlySet<string>,
): Promise<ProjectCommands> {
  const commands = new Map<string, CommandDefinition>();
  const problems: string[] = [];
  const source = new PluginSource(dirname(file));
  for (const key of await pluginsIn(file, problems)) {
    try {
      const plugin = await source.resolve(key);
      checkDefinition(key, plugin);
      for (const [name, definition] of Object.entries(plugin.commands ?? {})) {
        if (!NAME.test(name) || taken.has(name) || commands.has(name))
          problems.push(leftOut(name, key));
        else commands.set(name, definition);
      }
    } catch (error) {
      problems.push(`The plugin ${key} cannot be asked for commands: ${failureText(error)}`);
    }
  }
  return { commands, problems };
}

async function pluginsIn(file: string, problems: string[]): Promise<readonly string[]> {
  try {
    return (await readPluginKeys(file)).filter((key) => !FIRST_PARTY.includes(key));
  } catch (error) {
    problems.push(`The plugins of the config cannot be asked for commands: ${failureText(error)}`);
    return [];
  }
}

function leftOut(name: string, key: string): string {
  return NAME.test(name)
    ? `The command "${name}" of the plugin ${key} is left out: there is another one of that name.`
    : `The command "${name}" of the plugin ${key} is left out: its name must be lower-case words with hyphens.`;
}
