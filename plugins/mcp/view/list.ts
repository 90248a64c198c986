import { createHash } from "node:crypto";
import { writeJson } from "propylon/kit";
import type { Json } from "propylon";
import type { Era, RpcId } from "propylon/internal";
import { META_SERVER_INFO } from "../message/protocol.ts";

/** The lists that an endpoint shows, by method. */
export type ListMethod =
  | "tools/list"
  | "resources/list"
  | "resources/templates/list"
  | "prompts/list";

/** The member of the result that holds the list, by method. */
const LIST_KEY: Readonly<Record<ListMethod, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** Whether a method is one of the lists. */
export function isListMethod(method: string): method is ListMethod {
  return Object.hasOwn(LIST_KEY, method);
}

/** One entry of a list as JSON, in both eras' forms. */
export interface Fragment {
  readonly legacy: string;
  readonly modern: string;
}

/** One list of a view: serialised once, answered as bytes (performance.md: lists are bytes). */
export class List {
  readonly #key: string;
  readonly #fragments: readonly Fragment[];
  readonly #bytes: { legacy?: Buffer; modern?: Buffer } = {};
  #digest: string | undefined;

  constructor(method: ListMethod, fragments: readonly Fragment[]) {
    this.#key = LIST_KEY[method];
    this.#fragments = fragments;
  }

  get size(): number {
    return this.#fragments.length;
  }

  /** The response message for a request id. */
  encode(id: RpcId, era: Era, serverInfo: Json): (string | Buffer)[] {
    this.#bytes[era] ??= Buffer.from(this.#serialise(era, serverInfo));
    return [`{"jsonrpc":"2.0","id":${writeJson(id)},"result":`, this.#bytes[era]];
  }

  /** Whether clients would see no difference. */
  equals(other: List): boolean {
    const theirs = other.#fragments;
    if (theirs.length !== this.#fragments.length) return false;
    return this.#fragments.every(
      (fragment, index) => fragment === theirs[index] || fragment.modern === theirs[index]!.modern,
    );
  }

  /** The same for lists that are {@link equals}, in whatever process. */
  get digest(): string {
    return (this.#digest ??= this.#fragments
      .reduce((hash, { modern }) => hash.update(modern).update("\n"), createHash("sha256"))
      .digest("base64url")
      .slice(0, 22));
  }

  /** The result object with the closing brace of the message. */
  #serialise(era: Era, serverInfo: Json): string {
    const entries = this.#fragments.map((fragment) => fragment[era]).join(",");
    // What one client sees may depend on who it is, so nobody in between may share it; ttl 0: the cache is ours.
    const hints = {
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: { [META_SERVER_INFO]: serverInfo },
    };
    const tail = era === "modern" ? `,${writeJson(hints).slice(1)}` : "}";
    return `{"${this.#key}":[${entries}]${tail}}`;
  }
}

/** What was serialised of an entry, under the name of then. */
interface Serialised extends Fragment {
  readonly name: string;
}

/** A list for each entry: almost every entry has one name, and as many maps are work for the garbage collector. */
const fragments = new WeakMap<object, Serialised[]>();

/**
 * Serialises a catalogue entry under a name of ours, once per entry and name: an unchanged tool costs nothing when its
 * neighbours change.
 */
export function toFragment(
  entry: object,
  member: "name" | "uri" | "uriTemplate",
  name: string,
): Fragment {
  const known = fragments.get(entry) ?? [];
  const found = known.find((fragment) => fragment.name === name);
  if (found) return found;
  const fragment = serialise(entry, member, name);
  if (known.push(fragment) === 1) fragments.set(entry, known);
  return fragment;
}

function serialise(
  entry: object,
  member: "name" | "uri" | "uriTemplate",
  name: string,
): Serialised {
  const isOwn = (entry as Json)[member] === name;
  const shown = isOwn ? entry : { ...entry, [member]: name };
  const modern = writeJson(shown);
  const output = (entry as Json)["outputSchema"] as Json | undefined;
  // Up to 2025-11-25 an output schema describes an object; clients of that time refuse the whole list otherwise.
  if (output === undefined || output["type"] === "object") return { name, legacy: modern, modern };
  return { name, legacy: writeJson({ ...shown, outputSchema: undefined }), modern };
}
