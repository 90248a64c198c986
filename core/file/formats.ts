import type { ConfigIssue } from "../config/issue.ts";
import { type ConfigText, Places, type ConfigLayer, type LineOf } from "../config/config.ts";
import { DOUBLED, parseText } from "./document.ts";
import { isPlainObject } from "../kit/json.ts";
import { PartScanner, type ScannedText } from "./part-scanner.ts";

/** A language that is read by its own parser, and found in by the {@link PartScanner}. */
interface Format {
  readonly name: string;
  parse(text: string): Promise<unknown>;
  scan(text: string, layer: ConfigLayer): ScannedText;
}

const JSON5: Format = {
  name: "JSON5",
  parse: async (text) => (await import("confbox/json5")).parseJSON5(text),
  scan: (text, layer) => PartScanner.scanJson5(text, layer),
};

const TOML: Format = {
  name: "TOML",
  parse: async (text) =>
    withoutDates((await import("confbox/toml")).parseTOML(text.replace(/^\uFEFF/, " "))),
  scan: (text, layer) => PartScanner.scanToml(text, layer),
};

/**
 * Parses the text of a config in the language that the name of its file says.
 *
 * @param file name to show in places
 */
export function parseFormat(text: string, file: string): Promise<ConfigText> {
  if (/\.(?:json5|jsonc)$/i.test(file)) return readAs(JSON5, text, file);
  if (/\.toml$/i.test(file)) return readAs(TOML, text, file);
  return Promise.resolve(parseText(text, file));
}

async function readAs(format: Format, text: string, file: string): Promise<ConfigText> {
  const layer = { file, lineOf: linesOf(text) };
  try {
    const value = text.trim() === "" ? undefined : await format.parse(text);
    const { root, doubled } = format.scan(text, layer);
    const issues = doubled.map((offset) => doubledKey({ file, ...layer.lineOf(offset) }));
    return { value: issues.length > 0 ? undefined : value, issues, places: new Places(file, root) };
  } catch (error) {
    return {
      value: undefined,
      issues: [syntaxIssue(error, format, file)],
      places: new Places(file),
    };
  }
}

function doubledKey(place: ConfigIssue["place"]): ConfigIssue {
  const [message, hint] = DOUBLED;
  return { message, hint, place };
}

/** The parsers' own words quote the source, where a secret may stand; ours do not. */
function syntaxIssue(error: unknown, { name }: Format, file: string): ConfigIssue {
  const { line, column, lineNumber, columnNumber } = error as Record<string, number | undefined>;
  const found = line ?? lineNumber;
  const place = { file, line: found ?? 1, column: Math.max(1, column ?? columnNumber ?? 1) };
  return {
    message: `The file is not valid ${name} here.`,
    hint: "Compare the line with its neighbours, and look for a missing quote, bracket or comma.",
    place,
  };
}

function linesOf(text: string): LineOf {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    for (let high = starts.length; high - low > 1;) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}

/** TOML has dates; in the other languages they are texts, and so are they here. */
function withoutDates(value: unknown): unknown {
  if (value instanceof Date) return JSON.parse(JSON.stringify(value)) as unknown;
  if (Array.isArray(value)) return value.map(withoutDates);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutDates(item)]));
}
