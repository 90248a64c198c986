import { sliceOf } from "./chunks.ts";
import { DEEPEST, type Member, MOST_MEMBERS, scanJson } from "../kit/json-scan.ts";
import type { Json } from "./types.ts";

/** How some members of a result object become others. */
export interface ResultEdit {
  /** Names of the members that are taken out. */
  readonly names: readonly string[];
  /** What takes their place. */
  readonly change: (own: Json) => Json;
}

/** A result object with the edit made. */
export function editValue(result: Json, { names, change }: ResultEdit): Json {
  const own: Json = {};
  const others: Json = { ...result };
  for (const name of names) {
    if (!Object.hasOwn(others, name)) continue;
    own[name] = others[name];
    delete others[name];
  }
  return { ...change(own), ...others };
}

/**
 * The result object of a JSON-RPC message with the edit made in its bytes: only the members that are taken out are parsed, so that
 * the others stay as they were written, to the last digit.
 *
 * @returns `undefined` when it takes a parse: no result object, or one of very many members
 */
export function editBytes(
  message: readonly Buffer[],
  { names, change }: ResultEdit,
): (string | Buffer)[] | undefined {
  const place = scanJson(message, DEEPEST).members.find(({ name }) => name === "result");
  if (place === undefined) return undefined;
  const result = sliceOf(message, place.start, place.end);
  const { isObject, members } = scanJson(result, DEEPEST);
  if (!isObject || members.length === MOST_MEMBERS) return undefined;
  const own: Json = {};
  const kept: (string | Buffer)[] = [];
  for (const member of members) {
    const name = nameOf(result, member);
    if (names.includes(name)) own[name] = parse(sliceOf(result, member.start, member.end));
    else kept.push(",", ...sliceOf(result, member.key, member.end));
  }
  const first = JSON.stringify(change(own)).slice(0, -1);
  return [first, ...(first === "{" ? kept.slice(1) : kept), "}"];
}

function nameOf(chunks: readonly Buffer[], { name, key, start }: Member): string {
  if (name !== undefined) return name;
  const text = Buffer.concat(sliceOf(chunks, key, start)).toString("utf8");
  return JSON.parse(text.slice(0, text.lastIndexOf(":"))) as string;
}

function parse(chunks: readonly Buffer[]): unknown {
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}
