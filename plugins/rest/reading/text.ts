import { isWithinDepth } from "propylon/kit";
import { isMap, isScalar, Lexer, parseDocument, Parser, visit, type Document } from "yaml";
import { broken, MAX_DOCUMENT_DEPTH, tooDeep } from "./references.ts";

/** Enough for every honest use of anchors; a bomb of nested aliases needs far more ("billion laughs"). */
const MAX_ALIASES = 100;

/**
 * The value of a JSON or YAML text.
 *
 * @param name of the file, for messages
 * @throws {GatewayError} `invalid` for a text that is neither, or nests too deep
 */
export function parseText(bytes: Uint8Array, name: string): unknown {
  const text = new TextDecoder().decode(bytes);
  const isJson = /^\s*[{[]/.test(text);
  if (!(isJson ? isWithinDepth(bufferOf(bytes), MAX_DOCUMENT_DEPTH) : isShallowYaml(text)))
    throw tooDeep();
  try {
    return isJson ? JSON.parse(text) : parseYaml(text);
  } catch (error) {
    const where = error instanceof Error ? /line (\d+)/.exec(error.message)?.[1] : undefined;
    throw broken(`${name} is neither JSON nor YAML${where ? `: see line ${where}` : ""}.`);
  }
}

/** The parser's own check of keys compares each with all before it: 60,000 keys took a minute and a half. */
function parseYaml(text: string): unknown {
  const document = parseDocument(text, { uniqueKeys: false, logLevel: "error" });
  const [error] = document.errors;
  if (error) throw error;
  checkKeys(document, text);
  return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
}

/** A key that is there twice loses what is below the first. */
function checkKeys(document: Document.Parsed, text: string): void {
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name)) throw twice(name, text, key.range?.[0] ?? 0);
        seen.add(name);
      }
      return isMap(map) ? undefined : visit.SKIP;
    },
  });
}

function twice(name: string, text: string, at: number): Error {
  let line = 1;
  for (let next = text.indexOf("\n"); next !== -1 && next < at; next = text.indexOf("\n", next + 1))
    line++;
  return new Error(`The key ${name.slice(0, 40)} is there twice: line ${line}`);
}

/**
 * Whether a YAML text nests no deeper than a document may. Brackets do not tell, and `parse` recurses: where the stack is nearly
 * used up it has ended the process, because V8 could not compile a regular expression. The parser of its tokens does not.
 */
function isShallowYaml(text: string): boolean {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    const documents = parser.next(lexeme);
    while (documents.next().done !== true);
    // The document and the scalar are on the stack too.
    if (parser.stack.length > MAX_DOCUMENT_DEPTH + 2) return false;
  }
  return true;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
