import { GatewayError, type Json } from "propylon";
import { isObject } from "propylon/kit";
import { followPointer } from "propylon/internal";

/** A URL relative to another, or nothing. */
export function parseUrl(text: string, base: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** A document that cannot be used, said in one sentence. */
export function broken(message: string, hint = "Correct the document."): GatewayError {
  return new GatewayError("invalid", message, { hint });
}

/** Deepest nesting of a document. */
export const MAX_DOCUMENT_DEPTH = 200;

/** A document that nests deeper than {@link MAX_DOCUMENT_DEPTH}. */
export function tooDeep(): GatewayError {
  return broken(`The document nests deeper than ${MAX_DOCUMENT_DEPTH} levels.`);
}

/** Follows `$ref`s. All of them are absolute by now, so that what they mean does not depend on where they stand. */
export class References {
  readonly #documents: ReadonlyMap<string, unknown>;

  /** @param documents documents by URL without fragment, their own references made absolute */
  constructor(documents: ReadonlyMap<string, unknown>) {
    this.#documents = documents;
  }

  /** All of them. */
  get documents(): Iterable<unknown> {
    return this.#documents.values();
  }

  /**
   * What a node stands for: itself, or the end of its chain of references.
   *
   * @throws {GatewayError} `invalid` for a reference that leads nowhere or back to itself
   */
  follow(node: unknown): unknown {
    const seen = new Set<string>();
    let found = node;
    while (isObject(found) && typeof found["$ref"] === "string") {
      const reference = found["$ref"];
      if (seen.has(reference)) throw broken(`The reference ${quoted(reference)} leads to itself.`);
      seen.add(reference);
      found = this.get(reference);
    }
    return found;
  }

  /** The node at the end of one reference. */
  get(reference: string): unknown {
    const [url = "", pointer = ""] = split(reference);
    const node = followPointer(this.#documents.get(url), pointer);
    if (node === undefined) throw broken(`The reference ${quoted(reference)} leads nowhere.`);
    return node;
  }
}

/**
 * A copy in which every `$ref` is absolute.
 * @param onDocument told the URL, without fragment, of every document referred to
 * @throws {GatewayError} `invalid` for one that nests too deep: everything that is made of it recurses
 */
export function absolute(
  node: unknown,
  base: URL,
  onDocument: (url: URL) => void,
  depth = 0,
): unknown {
  if (depth > MAX_DOCUMENT_DEPTH) throw tooDeep();
  const within = (item: unknown): unknown => absolute(item, base, onDocument, depth + 1);
  if (Array.isArray(node)) return node.map(within);
  if (!isObject(node)) return node;
  const copy: Json = {};
  for (const [key, value] of Object.entries(node)) {
    if (key !== "$ref" || typeof value !== "string") copy[key] = within(value);
    else {
      const target = parseUrl(value, base.href);
      if (!target) throw broken(`The reference ${JSON.stringify(value)} is not a URL.`);
      copy[key] = target.href;
      target.hash = "";
      onDocument(target);
    }
  }
  return copy;
}

function split(reference: string): string[] {
  const hash = reference.indexOf("#");
  return hash === -1 ? [reference] : [reference.slice(0, hash), reference.slice(hash + 1)];
}

/** A reference without the path of a local file. */
export function shownReference(reference: string): string {
  return reference.startsWith("file:") ? `#${split(reference)[1] ?? ""}` : reference;
}

function quoted(reference: string): string {
  return JSON.stringify(shownReference(reference));
}
