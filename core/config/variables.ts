import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConfigPath, type PathIssue, pathText } from "./issue.ts";
import { parseVariables } from "../kit/parse-variables.ts";
import { isPlainObject } from "../kit/json.ts";
import { nearest } from "../kit/spelling.ts";

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A string of the config that took values from the environment. */
export interface Expanded {
  /** As written, e.g. `Bearer ${TOKEN}`; safe to show. */
  readonly raw: string;
  /** As used; may hold a secret. */
  readonly value: string;
  /** Whether a variable in it is not set: it stands there as written, and what else is wrong with it is noise. */
  readonly isUnset: boolean;
}

/** A config value with its variables filled in. */
export interface Expansion {
  readonly value: unknown;
  /** Strings that take values from the environment, and where they stand. */
  readonly expanded: readonly (readonly [path: ConfigPath, expanded: Expanded])[];
  /** Every value taken; masked wherever the config is shown. */
  readonly secrets: ReadonlySet<string>;
  readonly issues: readonly PathIssue[];
}

/**
 * `$$`, or `${NAME}`, `${env:NAME}` (Cursor, VS Code), `${NAME:-default}`; a lone `$` is itself. A default may hold variables, as
 * in a shell.
 */
const VARIABLE =
  /\$\$|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-((?:\$\{[^}]*\}|[^}])*))?\}|\$\{[^}]*\}?/g;

/**
 * The variables a config may use: those of the process, below them those of `.env.<NODE_ENV>`, and below them those of `.env`, both
 * beside the config. The files never override the real environment and are not copied into it, so children do not inherit them.
 *
 * @param folder of the config
 */
export async function readEnvironment(folder: string, real: Environment): Promise<Environment> {
  const files = await Promise.all(environmentFiles(folder, real).map(readVariables));
  return Object.assign({}, ...files, real) as Environment;
}

/** Files of variables beside a config, weakest first; none of them need exist. */
export function environmentFiles(folder: string, real: Environment): readonly string[] {
  const name = environmentName(real);
  return [".env", ...(name === undefined ? [] : [`.env.${name}`])].map((file) =>
    join(folder, file),
  );
}

/** The environment that a gateway runs in, such as `production`: the word of Node, which c12 reads too. */
export function environmentName(environment: Environment): string | undefined {
  const name = environment["NODE_ENV"];
  // `$schema` and `$env` are words of their own.
  return name !== undefined && /^(?!(?:schema|env)$)[\w-]+$/.test(name) ? name : undefined;
}

async function readVariables(file: string): Promise<Environment> {
  try {
    return parseVariables(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

/**
 * Fills variables into every string of a config value. An unset variable without default is an issue, never a literal.
 *
 * @param placeholder what stands for such variables where their values are not known yet, i.e. in a build; asked with the
 *   {@link pathText} of the string
 */
export function expand(
  value: unknown,
  environment: Environment,
  placeholder?: (path: string) => string,
): Expansion {
  const expanded: [ConfigPath, Expanded][] = [];
  const secrets = new Set<string>();
  const issues: PathIssue[] = [];

  let taken = false;
  const fill = (raw: string, path: ConfigPath): string =>
    raw.replaceAll(
      VARIABLE,
      (match: string, name: string | undefined, fallback: string | undefined) => {
        if (match === "$$") return "$";
        const otherwise = fallback ?? placeholder?.(pathText(path));
        const found = name === undefined ? undefined : takeVariable(environment, name, otherwise);
        if (found === undefined) {
          issues.push(name === undefined ? malformed(match, path) : unset(name, path, environment));
          return match;
        }
        taken = true;
        // A default is written in the file; only what the environment supplied is secret, and never looked into.
        if (!found.fromEnvironment)
          return found.value.includes("${") ? fill(found.value, path) : found.value;
        if (found.value !== "") secrets.add(found.value);
        return found.value;
      },
    );

  const expandString = (raw: string, path: ConfigPath): string => {
    taken = false;
    const known = issues.length;
    const filled = fill(raw, path);
    const isUnset = issues.length > known;
    if (taken || isUnset) expanded.push([path, { raw, value: filled, isUnset }]);
    return filled;
  };

  const walk = (node: unknown, path: ConfigPath): unknown => {
    if (typeof node === "string") return expandString(node, path);
    if (Array.isArray(node)) return node.map((item, index) => walk(item, [...path, index]));
    if (!isPlainObject(node)) return node;
    return Object.fromEntries(
      Object.entries(node).map(([key, item]) => [key, walk(item, [...path, key])]),
    );
  };
  return { value: walk(value, []), expanded, secrets, issues };
}

function takeVariable(
  environment: Environment,
  name: string,
  fallback: string | undefined,
): { value: string; fromEnvironment: boolean } | undefined {
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  // As in a shell, ":-" also covers a variable that is set but empty.
  if (value !== undefined && (value !== "" || fallback === undefined))
    return { value, fromEnvironment: true };
  return fallback === undefined ? undefined : { value: fallback, fromEnvironment: false };
}

function unset(name: string, path: ConfigPath, environment: Environment): PathIssue {
  const similar = nearest(name, Object.keys(environment));
  const meant = similar === undefined ? "" : ` Did you mean "${similar}"?`;
  return {
    path,
    message: `The variable ${name} is not set.`,
    hint: `Set it in the environment or in a .env file beside the config, or write \${${name}:-default}.${meant}`,
  };
}

function malformed(match: string, path: ConfigPath): PathIssue {
  const asked = match.startsWith("${input:") ? " VS Code asks for inputs; a gateway cannot." : "";
  return {
    path,
    message: `"${match}" is not a variable.`,
    hint: `Write \${NAME}, \${NAME:-default} or \${env:NAME}; write $$ for a dollar sign.${asked}`,
  };
}
