import { isScalar, parseDocument, visit, YAMLParseError } from "yaml";
import type { Document, DocumentOptions, ParseOptions, SchemaOptions } from "yaml";

/** Keys that one reading tells of. */
const MAX_DOUBLED = 100;

/**
 * `parseDocument` whose time grows with the text: the parser's own check of keys compares each with all before it, which takes
 * minutes for the 60,000 keys that fit into one edit. A key that is there twice is an error as before.
 */
export function parseYaml(
  text: string,
  options: ParseOptions & DocumentOptions & SchemaOptions = {},
): Document.Parsed {
  const document = parseDocument(text, { ...options, uniqueKeys: false });
  if (document.errors.length === 0) document.errors.push(...doubledKeys(document));
  return document;
}

function doubledKeys(document: Document.Parsed): YAMLParseError[] {
  const found: YAMLParseError[] = [];
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found.push(doubled(key.range?.[0] ?? 0));
        seen.add(key.value);
        if (found.length === MAX_DOUBLED) return visit.BREAK;
      }
      return undefined;
    },
  });
  return found;
}

function doubled(at: number): YAMLParseError {
  return new YAMLParseError([at, at + 1], "DUPLICATE_KEY", "Map keys must be unique");
}
