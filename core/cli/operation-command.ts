import type { z } from "zod";
import { GatewayError } from "../kit/errors.ts";
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
  { flag: "--target <url|config>", description: "gateway to ask" },
  { flag: "--timeout <duration>", description: "longest wait for an answer", default: "60s" },
  { flag: "--json", description: "print JSON" },
];

/** A member of an input, as the command line takes it. */
interface Member {
  readonly name: string;
  /** As zod calls it: of a list, what each of its values is. */
  readonly type: string;
  readonly isList: boolean;
  /** Whether any text becomes what it is at the gateway. */
  readonly coerces: boolean;
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
 * are words in that order, a list at the end as many as are wanted; all else is a flag. Numbers and booleans are sent as such.
 *
 * @throws {GatewayError} `invalid` for an input with a member that no word and no flag can say
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
  for (const member of members) requireSendable(operation, member);
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

/** What the definition of a schema below its layers says of it. */
interface InnerDef {
  readonly type: string;
  readonly entries?: object;
  readonly coerce?: boolean;
}

/** Of what a schema is made, read from it: its JSON Schema costs a command that asks one question ten times as much. */
function memberOf(name: string, schema: z.ZodType): Member {
  const layers = layersOf(schema);
  const { element } = layers.at(-1)!.def as { element?: z.ZodType };
  const { type, entries, coerce } = (element ? layersOf(element) : layers).at(-1)!.def as InnerDef;
  const standard = layers.map(({ def }) => (def as { defaultValue?: unknown }).defaultValue);
  return {
    ...Object.assign({}, ...layers.toReversed().map((layer) => layer.meta())),
    name,
    type,
    isList: element !== undefined,
    coerces: coerce === true,
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

/** What no text is, unless the gateway makes it of one. */
const NO_TEXT = ["array", "object", "record", "map", "set", "tuple", "bigint", "date"];
/** What a text is read to, where it goes into JSON. */
const READ = ["number", "boolean"];

/** @throws {GatewayError} `invalid` */
function requireSendable({ name, method }: Operation, member: Member): void {
  const { type, isList, coerces, isWord: isNeeded, standard } = member;
  const refuse = (problem: string, hint: string): never => {
    const told = `The command "${name}" cannot send ${member.name}: ${problem}.`;
    throw new GatewayError("invalid", told, { hint });
  };
  if (!coerces && NO_TEXT.includes(type))
    refuse(`it is of the type ${type}`, "Make it hidden, or give the operation no name.");
  if (takesQuery(method) && isList)
    refuse(`the query of a ${method} has no lists`, "Take it in the body of a POST.");
  if (takesQuery(method) && !coerces && READ.includes(type))
    refuse(`all in the query of a ${method} is text`, `Use z.coerce or z.stringbool there.`);
  if (type === "boolean" && !isNeeded && standard === true)
    refuse("its flag could only say what it is by default", "Make false its default.");
}

function wordOf({ name, title = name, isList }: Member): string {
  return isList ? `[${title.toLowerCase()}...]` : `<${name}>`;
}

function flagOf(member: Member): CommandFlag {
  const { description = "", choices, isList } = member;
  const flag = flagText(member);
  return {
    flag,
    description,
    ...(choices && flag.includes("<") && { choices }),
    ...(isList && { repeatable: true }),
    ...(member.isDuration && { read: "duration" }),
  };
}

function flagText({ name, type, isList, flag }: Member): string {
  const isSwitch = type === "boolean" && !isList;
  return flag ?? `--${name.replaceAll("_", "-")}${isSwitch ? "" : ` <${name}>`}`;
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
    return value === undefined ? [] : [[member.name, readValue(member, value)] as const];
  });
  const input: Json = { ...Object.fromEntries(values), ...body };
  const base = { method: method as "GET", base: "", path };
  return takesQuery(method)
    ? { ...base, query: input as Readonly<Record<string, string>> }
    : { ...base, body: input };
}

function takeWord({ isList }: Member, words: string[]): unknown {
  return isList ? words.splice(0) : words.shift();
}

/** A text as what it is in JSON. One that is not of its type goes as it is: the gateway says what it expects. */
function readValue(member: Member, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => readValue(member, each));
  if (typeof value !== "string" || member.coerces) return value;
  if (member.type === "number" && value.trim() !== "" && Number.isFinite(Number(value)))
    return Number(value);
  return member.type === "boolean" && /^(?:true|false)$/.test(value) ? value === "true" : value;
}

/** A flag without a value stands for the one that it is called by. */
function flagValue(member: Member, flags: Readonly<Record<string, unknown>>): unknown {
  const name = /--([\w-]+)/.exec(flagText(member))![1]!;
  const value = flags[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
  return value === true && member.choices ? name : (value ?? member.standard);
}
