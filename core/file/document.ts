import { isAlias, isMap, isScalar, isSeq, LineCounter, visit } from "yaml";
import type { Document, YAMLError } from "yaml";
import type { ConfigIssue, ConfigPath } from "../config/issue.ts";
import {
  type ConfigText,
  Places,
  type ConfigLayer,
  type LineOf,
  type Part,
} from "../config/config.ts";
import { parseYaml } from "./yaml.ts";

/** Enough for every honest use of anchors; a bomb of nested aliases needs far more ("billion laughs"). */
const MAX_ALIASES = 100;

/**
 * Parses YAML 1.2, of which JSON is a subset, so that every problem can be told with its line and column.
 *
 * @param file name to show in places
 */
export function parseText(text: string, file: string): ConfigText {
  const lines = new LineCounter();
  // prettyErrors would append source lines, which may hold secrets.
  const document = parseYaml(text, {
    lineCounter: lines,
    prettyErrors: false,
    strict: true,
    merge: true,
  });
  const at: LineOf = (offset) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const errors = firstOf(document.errors).map(
    (error) =>
      unclosed(error, document, (offset) => ({ file, ...at(offset) })) ??
      syntaxIssue(error, text, { file, ...at(error.pos[0]) }),
  );
  const issues =
    errors.length > 0
      ? errors
      : aliasIssues(document).map((issue) => ({
          ...issue.issue,
          place: { file, ...at(issue.offset) },
        }));
  if (issues.length > 0) return { value: undefined, issues, places: new Places(file) };
  return {
    value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown,
    issues,
    places: new Places(
      file,
      partOf({ document, layer: { file, lineOf: at } }, document.contents, []),
    ),
  };
}

/** After a syntax error the parser guesses, so what follows is noise; a key that is there twice is not. */
function firstOf(errors: readonly YAMLError[]): readonly YAMLError[] {
  return errors.every((error) => error.code === "DUPLICATE_KEY") ? errors : errors.slice(0, 1);
}

/** Aliases without an anchor, and files whose aliases multiply; `toJS` would throw for both without a place. */
function aliasIssues(
  document: Document.Parsed,
): { issue: Omit<ConfigIssue, "place">; offset: number }[] {
  const found: { issue: Omit<ConfigIssue, "place">; offset: number }[] = [];
  visit(document, {
    Alias(_, alias, above) {
      const meant = alias.resolve(document);
      if (meant && !above.includes(meant)) return;
      if (meant) {
        const message = `The alias "*${alias.source}" is inside the part that it repeats.`;
        const issue = { message, hint: "Write that part out." };
        return void found.push({ issue, offset: startOf(alias) ?? 0 });
      }
      const issue = {
        message: `No anchor named "${alias.source}" stands above this alias.`,
        hint: 'Define it with "&", or quote the value if a text beginning with "*" is meant.',
      };
      found.push({ issue, offset: startOf(alias) ?? 0 });
    },
  });
  if (found.length === 0 && multiplies(document)) {
    found.push({
      issue: {
        message: `Aliases repeat the content of this file more than ${MAX_ALIASES} times.`,
        hint: "Write the repeated parts out.",
      },
      offset: 0,
    });
  }
  return found;
}

function multiplies(document: Document.Parsed): boolean {
  try {
    document.toJS({ maxAliasCount: MAX_ALIASES });
    return false;
  } catch (error) {
    if (error instanceof ReferenceError) return true;
    throw error;
  }
}

/** What is said of a key that is there twice, in every language. */
export const DOUBLED = [
  "This key is there twice.",
  "Remove one of the two, or merge what is below them.",
] as const;

const SYNTAX: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  DUPLICATE_KEY: DOUBLED,
  TAB_AS_INDENT: [
    "A tab is used for indentation.",
    "Indent with spaces; YAML does not allow tabs there.",
  ],
  BAD_INDENT: [
    "The indentation does not fit what is above.",
    "Align it with its neighbours, two spaces per level.",
  ],
  MULTILINE_IMPLICIT_KEY: [
    "A key runs over several lines.",
    "Check the line for a missing colon or quote.",
  ],
  MISSING_CHAR: [
    "A closing quote, bracket or comma is missing.",
    "Close what was opened on or above this line.",
  ],
  BLOCK_AS_IMPLICIT_KEY: [
    "A nested value starts on the line of its key.",
    'Put it on its own line, or quote a value that holds ": ".',
  ],
  IMPOSSIBLE: ["This cannot be read as YAML.", "Compare the line with its neighbours."],
};

/** A bracket without its end, told where it stands: the parser finds out much later, at some line that is right. */
function unclosed(
  { message, pos }: YAMLError,
  document: Document.Parsed,
  placeAt: (offset: number) => ConfigIssue["place"],
): ConfigIssue | undefined {
  const end = /end with a ([}\]])$/.exec(message)?.[1];
  if (end === undefined) return undefined;
  let start = pos[0];
  visit(document, {
    Collection(_, node) {
      const [from = 0, , to = 0] = node.range ?? [];
      if (node.flow === true && from < pos[0] && to >= pos[0]) start = from;
    },
  });
  return {
    message: `This ${end === "}" ? "{" : "["} is not closed.`,
    hint: `Add the ${end} behind its last entry.`,
    place: placeAt(start),
  };
}

/** The parser's own words quote the source, where a secret may stand; ours do not. */
function syntaxIssue(error: YAMLError, text: string, place: ConfigIssue["place"]): ConfigIssue {
  const tab = /^[ ]*\t/m.test(text.split("\n")[(place.line ?? 1) - 1] ?? "")
    ? SYNTAX["TAB_AS_INDENT"]
    : undefined;
  const [message, hint] = tab ??
    SYNTAX[error.code] ?? [
      `The file is not valid YAML here (${error.code.toLowerCase().replaceAll("_", " ")}).`,
      "Compare the line with its neighbours; quote values that begin with a special character.",
    ];
  return { message, hint, place };
}

/** A document with the file that it is in. */
interface Written {
  readonly document: Document.Parsed;
  readonly layer: ConfigLayer;
}

/** @param key offset of the key that it stands at */
function partOf(within: Written, from: unknown, written: ConfigPath, key?: number): Part {
  const { document, layer } = within;
  const node = isAlias(from) ? from.resolve(document) : from;
  const parts = membersOf(node).map(
    ([name, value, at]) => [String(name), partOf(within, value, [...written, name], at)] as const,
  );
  // A key without a value (`url:`) has no range worth showing: its key has.
  const isEmpty = isScalar(node) && node.value === null && node.source === "";
  const value = isEmpty && key !== undefined ? undefined : startOf(from);
  return { written, key, value, parts: new Map(parts), layer };
}

/** What is below a node: key or index, value, and where the key stands. */
function membersOf(
  node: unknown,
): [name: string | number, value: unknown, key: number | undefined][] {
  if (isSeq(node)) return node.items.map((item, index) => [index, item, undefined]);
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) =>
    isScalar(key) ? [[String(key.value), value, startOf(key)]] : [],
  );
}

function startOf(node: unknown): number | undefined {
  return (node as { range?: readonly [number, number, number] | null } | undefined)?.range?.[0];
}
