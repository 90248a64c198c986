import type { Json } from "propylon";
import { DEEPEST, isObject, scanJson } from "propylon/kit";

/** Keywords whose value counts as a whole: with less in it a schema would accept something else. */
const WHOLE: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/**
 * What of a message may travel although a number in it was changed by being read: an error and a log line, whose `data` becomes
 * the text that the server wrote. `undefined` for anything else.
 */
export function keepExact(message: unknown, chunks: readonly Buffer[]): Json | undefined {
  if (!isObject(message)) return undefined;
  const { id, method, params, error } = message;
  if (method === undefined && isObject(error)) {
    const { code, message: words } = error;
    return { id, error: { code, message: words, data: textOf(chunks, ["error", "data"]) } };
  }
  if (method !== "notifications/message" || id !== undefined || !isObject(params)) return undefined;
  const { level, logger } = params;
  return { method, params: { level, logger, data: textOf(chunks, ["params", "data"]) } };
}

/** A member of a message as it was written. */
function textOf(chunks: readonly Buffer[], path: readonly string[]): string | undefined {
  return memberBytes(chunks, path)?.toString("utf8");
}

/** The bytes of a member of a JSON text; `undefined` when it is not there. */
export function memberBytes(
  chunks: readonly Buffer[],
  path: readonly string[],
): Buffer | undefined {
  let bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  for (const name of path) {
    const member = scanJson([bytes], DEEPEST).members.find((each) => each.name === name);
    if (!member) return undefined;
    bytes = bytes.subarray(member.start, member.end);
  }
  return bytes;
}

/**
 * An entry of a list without the keywords that hold a number which was changed by being read, e.g. a `maximum` of 64 bits: a
 * schema without them accepts more, and the server checks for itself.
 *
 * @param found told the place of each
 */
export function withoutInexact(value: Json, found: (path: string) => void, path = ""): Json {
  const kept = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const at = path === "" ? key : `${path}.${key}`;
    if (isInexact(member, WHOLE.has(key))) {
      found(at);
      return [];
    }
    return [[key, within(member, found, at)]];
  });
  return Object.fromEntries(kept);
}

function within(member: unknown, found: (path: string) => void, at: string): unknown {
  if (Array.isArray(member)) return member.map((each) => within(each, found, at));
  return isObject(member) ? withoutInexact(member, found, at) : member;
}

/** Whether a value is such a number or a list with one; with `deep`, whether it holds one anywhere. */
function isInexact(value: unknown, deep: boolean): boolean {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (Array.isArray(value)) return value.some((each) => isInexact(each, deep));
  return deep && isObject(value) && Object.values(value).some((each) => isInexact(each, true));
}
