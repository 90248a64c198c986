import { join, resolve } from "node:path";
import {
  CANCEL_SYMBOL,
  confirm,
  intro,
  isCancel,
  multiselect,
  outro,
  select,
  text,
} from "@clack/prompts";
import { checkDirectory } from "./directory.ts";
import { Failure } from "./failure.ts";
import type { Flags } from "./flags.ts";
import { nameOf } from "./name.ts";
import { findServerFiles } from "./servers.ts";
import {
  DEFAULT_EXTRAS,
  EXTRAS,
  findTemplate,
  TEMPLATES,
  type Extra,
  type Template,
} from "./template.ts";

/** Everything that has to be known to make a project. */
export interface Answers {
  readonly directory: string;
  readonly template: Template;
  readonly imports: readonly string[];
  readonly extras: readonly Extra[];
  readonly install: boolean;
  readonly start: boolean;
}

/** Answers without anybody to ask: what the flags say, and defaults. */
export function defaultAnswers(flags: Flags): Answers {
  const template = findTemplate(flags.template ?? TEMPLATES[0].name)!;
  return {
    directory: flags.directory ?? defaultDirectory(template, flags),
    template,
    imports: flags.import,
    extras: flags.with ?? DEFAULT_EXTRAS,
    install: flags.install ?? flags.start ?? false,
    start: flags.start ?? false,
  };
}

function defaultDirectory({ name }: Template, flags: Flags): string {
  return flags.name ?? (name === "plugin" ? "my-plugin" : "my-gateway");
}

/**
 * Asks what the flags do not say: at most five questions, and Enter answers every one.
 *
 * @throws {Failure} with code 130 when they are cancelled; nothing is written before the last
 */
export async function ask(flags: Flags): Promise<Answers> {
  intro("create-gateway");
  const defaults = defaultAnswers(flags);
  const template = flags.template === undefined ? await askTemplate() : defaults.template;
  const directory =
    flags.directory ?? (await askDirectory(defaultDirectory(template, flags), flags));
  const isGateway = template.name !== "plugin";
  const imports =
    isGateway && flags.import.length === 0 ? await askImports(process.cwd()) : flags.import;
  const extras =
    isGateway && flags.with === undefined ? await askExtras(template) : defaults.extras;
  // A database has to be started first.
  const hasDatabase = extras.includes("postgres") || extras.includes("cluster");
  const { install, start } = await askFinish(flags, isGateway && !hasDatabase);
  outro("Creating the project.");
  return { directory, template, imports, extras, install, start };
}

async function askDirectory(initial: string, flags: Flags): Promise<string> {
  const answer = await text({
    message: "Directory of the new project?",
    placeholder: initial,
    defaultValue: initial,
    validate: (value) => problemOf(value || initial, flags),
  });
  return given(answer);
}

function problemOf(directory: string, { name, overwrite }: Flags): string | undefined {
  try {
    nameOf(directory, name);
    checkDirectory(resolve(directory), overwrite);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}

async function askTemplate(): Promise<Template> {
  const answer = await select({
    message: "What is it for?",
    options: TEMPLATES.map(({ name, hint }) => ({ value: name as string, label: name, hint })),
  });
  return findTemplate(given(answer))!;
}

/** Only asked when there is something to take over. */
async function askImports(folder: string): Promise<readonly string[]> {
  const found = findServerFiles(folder);
  if (found.length === 0) return [];
  const answer = await multiselect({
    message: "Import the MCP servers of these files?",
    options: found.map((value) => ({ value })),
    initialValues: [...found],
    required: false,
  });
  return given(answer).map((name) => join(folder, name));
}

const HINTS: Readonly<Partial<Record<Extra, string>>> = {
  postgres: "keeps what must survive the process; with compose",
  workers: "one process per core, as one gateway",
  cluster: "three gateways behind a balancer; with postgres, compose and kubernetes",
};

/** The queue shares the work; tables in a file belong to one process. */
const NOT_OFFERED: Readonly<Partial<Record<Template["name"], readonly Extra[]>>> = {
  "a2a-runtime": ["workers", "cluster"],
  "team-console": ["workers"],
};

async function askExtras({ name }: Template): Promise<readonly Extra[]> {
  const left: readonly Extra[] = NOT_OFFERED[name] ?? [];
  const offered = EXTRAS.filter((extra) => !left.includes(extra));
  const answer = await multiselect({
    message: "Which deployment files do you want?",
    options: offered.map((value) => {
      const hint = HINTS[value];
      return { value, ...(hint !== undefined && { hint }) };
    }),
    initialValues: [...DEFAULT_EXTRAS],
    required: false,
  });
  return given(answer);
}

async function askFinish(
  flags: Flags,
  canStart: boolean,
): Promise<{ install: boolean; start: boolean }> {
  if (flags.install !== undefined || flags.start !== undefined) {
    const { install, start } = defaultAnswers(flags);
    return { install, start };
  }
  const answer = given(
    await confirm({ message: canStart ? "Install and start it now?" : "Install it now?" }),
  );
  return { install: answer, start: answer && canStart };
}

function given<T>(answer: T): Exclude<T, typeof CANCEL_SYMBOL> {
  if (isCancel(answer)) throw new Failure("Cancelled. Nothing was written.", 130);
  return answer as Exclude<T, typeof CANCEL_SYMBOL>;
}
