import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { selfImports } from "./imports.ts";

/** A public name as its declaration file has it. */
export interface PublicName {
  readonly name: string;
  /** The declaration, with the comments inside it. */
  readonly signature: string;
  /** What its comment says, as Markdown. */
  readonly text: string;
  /** Code of its comment's `@example`. */
  readonly example: string | undefined;
}

/** Names that stand under one heading of a door. */
export interface Group {
  /** The line comment above them; empty where the door has none. */
  readonly title: string;
  readonly names: readonly PublicName[];
}

/** `export { a, type B } from "./file.ts";`, and the comment above such lines. */
const LINE = /^\/\/ (.+)$|^export (?:type )?\{([^}]*)\} from "([^"]+)";/gm;

/** The names that a door exports, e.g. `propylon/kit`: grouped as in its source, declared as built. */
export function readDoor(door: string): readonly Group[] {
  const source = selfImports().get(door)!;
  const groups: { title: string; names: PublicName[] }[] = [];
  for (const [, title, list = "", from] of readFileSync(source, "utf8").matchAll(LINE)) {
    if (title !== undefined || groups.length === 0) groups.push({ title: title ?? "", names: [] });
    if (from !== undefined)
      groups.at(-1)!.names.push(...namesOf(list, join(dirname(source), from)));
  }
  return groups.filter(({ names }) => names.length > 0);
}

function namesOf(list: string, source: string): readonly PublicName[] {
  const statements = statementsOf(join("dist", source.replace(/\.ts$/, ".d.ts")));
  return list
    .split(",")
    .map((each) => each.trim().replace(/^type /, ""))
    .filter((each) => each !== "")
    .map((name) => describe(name, statements));
}

interface Statement {
  readonly comment: string;
  readonly code: string;
}

/** The statements of a declaration file, each with the comment above it. Each begins at the first column. */
function statementsOf(file: string): readonly Statement[] {
  const statements: Statement[] = [];
  let comment: string[] = [];
  let code: string[] = [];
  const end = (): void => {
    if (code.length > 0) statements.push({ comment: comment.join("\n"), code: code.join("\n") });
    [comment, code] = [[], []];
  };
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (/^(\/\*\*|export |declare |import )/.test(line) && code.length > 0) end();
    if (line.startsWith("/**") || (code.length === 0 && line.startsWith(" *"))) comment.push(line);
    else if (line !== "") code.push(line);
  }
  end();
  return statements;
}
function describe(name: string, statements: readonly Statement[]): PublicName {
  const declares = new RegExp(
    `^export (?:declare )?(?:abstract )?(?:interface|type|class|function|const) ${name}\\b`,
  );
  const found = statements.filter(({ code }) => declares.test(code));
  if (found.length === 0) throw new Error(`${name} has no declaration.`);
  const [text = "", ...tags] = proseOf(found[0]!.comment).split(/^(?=@)/m);
  const example = tags.find((tag) => tag.startsWith("@example"));
  const rest = tags.filter((tag) => tag !== example).map((tag) => `- ${inLine(tag)}`);
  return {
    name,
    signature: found.map(({ code }) => code.replace(/^export (declare )?/gm, "")).join("\n"),
    text: [inLine(text), rest.join("\n")].filter((part) => part !== "").join("\n\n"),
    example: example
      ?.replace("@example", "")
      .replaceAll(/^```\w*$/gm, "")
      .trim(),
  };
}

function proseOf(comment: string): string {
  return comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .split("\n")
    .map((line) => line.replace(/^ \* ?/, "").trimEnd())
    .join("\n")
    .trim();
}

/** A paragraph on one line, with links as code. */
function inLine(text: string): string {
  return text
    .replaceAll(
      /\{@link ([^}|]+?)(?:\s*\|\s*([^}]+))?\}/g,
      (_, to: string, words?: string) => words ?? `\`${to}\``,
    )
    .split(/\n{2,}/)
    .map((paragraph) =>
      paragraph
        .split("\n")
        .map((line) => line.trim())
        .join(" "),
    )
    .join("\n\n")
    .replace(/^@(\w+)\s*/, "`@$1` ")
    .trim();
}
