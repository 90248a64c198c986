import type { z } from "zod";
import type { Json } from "../kit/types.ts";
import type { CommandDefinition, CommandFlag, CommandInput } from "../plugin/command.ts";
import { type Operation, takesQuery } from "../plugin/operation.ts";
import { isDuration } from "../kit/units.ts";
import { print } from "./answer-table.ts";
import { askPlugin, type PluginRequest } from "./plugin-client.ts";
import { SEND_KEY_FLAG } from "./serving.ts";
import type { ClientFlags } from "./target.ts";

/** Flags of every command that asks a running gateway. */
export const ASKING_FLAGS: readonly CommandFlag[] = [
  SEND_KEY_FLAG,
  { flag: "--target <url|config>", description: "gateway to administer" },
  { flag: "--timeout <duration>", description: "longest wait for an answer", default: "60s" },
  { flag: "--json", description: "print JSON" },
];

/** A member of an input, as the command line takes it. */
interface Member {
  readonly name: string;
  /** As zod calls it. */
  readonly type: string;
  readonly isWord: boolean;
  readonly isDuration: boolean;
  readonly choices: readonly string[] | undefined;
  readonly standard: unknown;
  readonly title?: string;
  readonly description?: string;
  readonly flag?: string;
  readonly hidden?: boolean;
}

/**
 * The commands of operations of a plugin that belong together, by the last of their words. What the path has and what the input needs
 * are words in that order, a list at the end as many as are wanted; all else is a flag.
 *
 * @example const commands = { book: { description: "Books.", commands: operationCommands("shelf", [list, create]) } };
 */
export function operationCommands(
  plugin: string,
  operations: readonly Operation[],
): Readonly<Record<string, CommandDefinition>> {
  const named = operations.filter(({ name }) => name !== undefined);
  return Object.fromEntries(
    named.map((each) => [each.name!.split(" ").at(-1)!, commandOf(plugin, each)]),
  );
}

function commandOf(plugin: string, operation: Operation): CommandDefinition {
  const members = membersOf(operation);
  const inPath = pathNames(operation);
  const words = [...inPath.map((name) => `<${name}>`), ...members.filter(isWord).map(wordOf)];
  return {
    description: operation.words,
    ...(words.length > 0 && { arguments: words.join(" ") }),
    flags: [...members.filter((each) => !isWord(each)).map(flagOf), ...ASKING_FLAGS],
    async run({ arguments: given, flags }: CommandInput<ClientFlags>) {
      const request = requestOf(
        operation,
        members,
        given,
        flags as Readonly<Record<string, unknown>>,
      );
      print(await askPlugin(flags, { plugin, ...request }), flags.json);
    },
  };
}

function membersOf({ input }: Operation): readonly Member[] {
  return Object.entries(input.shape)
    .map(([name, schema]) => memberOf(name, schema as z.ZodType))
    .filter(({ hidden = false }) => !hidden);
}

/** Of what a schema is made, read from it: its JSON Schema costs a command that asks one question ten times as much. */
function memberOf(name: string, schema: z.ZodType): Member {
  const layers = layersOf(schema);
  const { type, entries } = layers.at(-1)!.def as { type: string; entries?: object };
  const standard = layers.map(({ def }) => (def as { defaultValue?: unknown }).defaultValue);
  return {
    ...Object.assign({}, ...layers.toReversed().map((layer) => layer.meta())),
    name,
    type,
    isWord: !layers.some(({ def }) => def.type === "optional" || def.type === "default"),
    isDuration: isDuration(schema),
    choices: entries && Object.values(entries),
    standard: standard.find((value) => value !== undefined),
  } as Member;
}

/** A schema, and what it says may be missing, has a default or is transformed. */
function layersOf(schema: z.ZodType): readonly z.ZodType[] {
  const { innerType, in: before } = schema.def as { innerType?: z.ZodType; in?: z.ZodType };
  const inner = innerType ?? before;
  return inner ? [schema, ...layersOf(inner)] : [schema];
}

const isWord = (member: Member): boolean => member.isWord;

function pathNames({ path }: Operation): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
}

function wordOf({ name, title = name, type }: Member): string {
  return type === "array" ? `[${title.toLowerCase()}...]` : `<${name}>`;
}

function flagOf(member: Member): CommandFlag {
  const { description = "", choices, type } = member;
  const flag = flagText(member);
  return {
    flag,
    description,
    ...(choices && flag.includes("<") && { choices }),
    ...(type === "array" && { repeatable: true }),
    ...(member.isDuration && { read: "duration" }),
  };
}

function flagText({ name, flag = `--${name.replaceAll("_", "-")} <${name}>` }: Member): string {
  return flag;
}

function requestOf(
  operation: Operation,
  members: readonly Member[],
  given: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Omit<PluginRequest, "plugin"> {
  const { method, body } = operation;
  const inPath = pathNames(operation);
  const path = inPath.reduce(
    (filled, name, at) => filled.replace(`:${name}`, () => encodeURIComponent(given[at] ?? "")),
    operation.path,
  );
  const words = given.slice(inPath.length);
  const values = members.flatMap((member) => {
    const value = member.isWord ? takeWord(member, words) : flagValue(member, flags);
    return value === undefined ? [] : [[member.name, value] as const];
  });
  const input: Json = { ...Object.fromEntries(values), ...body };
  const base = { method: method as "GET", base: "", path };
  return takesQuery(method)
    ? { ...base, query: input as Readonly<Record<string, string>> }
    : { ...base, body: input };
}

function takeWord({ type }: Member, words: string[]): unknown {
  return type === "array" ? words.splice(0) : words.shift();
}

/** A flag without a value stands for the one that it is called by. */
function flagValue(member: Member, flags: Readonly<Record<string, unknown>>): unknown {
  const name = /--([\w-]+)/.exec(flagText(member))![1]!;
  const value = flags[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
  return value === true && member.choices ? name : (value ?? member.standard);
}
