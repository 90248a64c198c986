import { randomBytes } from "node:crypto";
import { parseEnv } from "node:util";
import { Failure } from "./failure.ts";
import type { Imported } from "./servers.ts";

/** Content of `.env`, and what is missing in it. */
export interface Environment {
  readonly content: string;
  /** Variables that only the user knows. */
  readonly blanks: readonly string[];
}

/**
 * Makes `.env`: the example with keys made up where it says `change-me`, and the values of servers that were taken over.
 *
 * @param before the `.env` that is there: all it says stays, only what it lacks is added
 * @throws {Failure} for a value that no `.env` can hold
 */
export function makeEnvironment(
  example: string,
  { values, blanks }: Pick<Imported, "values" | "blanks">,
  before?: string,
): Environment {
  // Editors of Windows begin a file with a byte order mark.
  const known = parseEnv((before ?? "").replace(/^\uFEFF/, ""));
  const isMissing = (name: string): boolean => (known[name] ?? "") === "";
  const taken = [...values]
    .filter(([name]) => isMissing(name))
    .map(([name, value]) => line(name, value));
  const content =
    before === undefined
      ? append(generate(example), TITLE, taken)
      : append(before, "# Added by create-gateway.", [...valuesOf(example, isMissing), ...taken]);
  return { content, blanks: [...blanks].filter(isMissing) };
}

const TITLE = "# Of the imported servers.";

/** `.env.example` with the names of what was taken over. */
export function makeExample(example: string, { values }: Pick<Imported, "values">): string {
  return append(
    example,
    TITLE,
    [...values.keys()].map((name) => `${name}=`),
  );
}

function append(text: string, title: string, lines: readonly string[]): string {
  if (lines.length === 0) return text;
  const start = text.trim() === "" ? "" : `${text.trimEnd()}\n\n`;
  return `${start}${title}\n${lines.join("\n")}\n`;
}

function generate(example: string): string {
  return example.replaceAll(/^(\w+)=change-me$/gm, (_, name: string) => line(name, makeKey()));
}

/** What the example sets, with keys made up. */
function valuesOf(example: string, isWanted: (name: string) => boolean): readonly string[] {
  return Object.entries(parseEnv(generate(example)))
    .filter(([name]) => isWanted(name))
    .map(([name, value]) => line(name, value ?? ""));
}

/** Hex, since a key that begins with a hyphen would be an option where it follows `--api-key`. */
function makeKey(): string {
  return randomBytes(24).toString("hex");
}

/** What follows a value in the worst case: a quote that is open takes it all in. */
const REST = "A=\"1\"\nB='1'\nC=`1`\nD=1";

/** As `util.parseEnv` reads it back; it does not know escapes, so the quotes depend on the value. */
function line(name: string, value: string): string {
  const forms = [value, `'${value}'`, `\`${value}\``, `"${value}"`];
  const found = forms
    .map((form) => `${name}=${form}`)
    .find((text) => {
      const read = parseEnv(`${text}\n${REST.replaceAll(/^/gm, `${name}_`)}`);
      return (
        read[name] === value && "ABCD".split("").every((each) => read[`${name}_${each}`] === "1")
      );
    });
  if (found === undefined)
    throw new Failure(
      `The value for ${name} has quotes or line ends that .env cannot hold. Write a variable in its place in the file that is imported.`,
    );
  return found;
}
