import type { Json } from "./types.ts";
import { isObject } from "./json.ts";

/**
 * The extension for calls that are answered later (SEP-2663).
 *
 * @example const required = { extensions: { [TASKS_EXTENSION]: {} } };
 */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/**
 * Whether capabilities, of a client or a server, have the tasks extension.
 *
 * @example if (declaresTasks(call.peer.capabilities)) begin(call);
 */
export function declaresTasks(capabilities: unknown): boolean {
  const extensions = isObject(capabilities) ? capabilities["extensions"] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/**
 * Capabilities with the tasks extension.
 *
 * @example const capabilities = withTasks({ elicitation: {} });
 */
export function withTasks(capabilities: Json): Json {
  const { extensions } = capabilities;
  const own = isObject(extensions) ? extensions : {};
  return { ...capabilities, extensions: { ...own, [TASKS_EXTENSION]: {} } };
}

/**
 * Capabilities without the tasks extension; the same object when they have none.
 *
 * @example const capabilities = withoutTasks(call.peer.capabilities);
 */
export function withoutTasks(capabilities: Json): Json {
  const { extensions } = capabilities;
  if (!isObject(extensions) || !(TASKS_EXTENSION in extensions)) return capabilities;
  const { [TASKS_EXTENSION]: _, ...others } = extensions;
  return { ...capabilities, extensions: others };
}

/** Client capability that a request to the client needs, by method. */
const NEEDED: ReadonlyMap<string, string> = new Map([
  ["sampling/createMessage", "sampling"],
  ["elicitation/create", "elicitation"],
  ["roots/list", "roots"],
]);

/**
 * Whether a client can be asked by this method at all.
 *
 * @example if (!isAskable(method)) throw unknown(method);
 */
export function isAskable(method: string): boolean {
  return NEEDED.has(method);
}

/**
 * What of a client's capabilities says that it can be asked.
 *
 * @example const kept = askableOf(call.peer.capabilities); // { elicitation: { form: {} } }
 */
export function askableOf(capabilities: Json): Json {
  const kept: Record<string, unknown> = {};
  for (const key of NEEDED.values()) {
    const declared = capabilities[key];
    if (isObject(declared)) kept[key] = isObject(declared["url"]) ? { form: {}, url: {} } : {};
  }
  return kept;
}

/**
 * The capability a client lacks for a request to it, in the form of its own declaration; `undefined` if it lacks none.
 *
 * @example const missing = missingCapability("roots/list", undefined, peer.capabilities); // { roots: {} }
 */
export function missingCapability(
  method: string,
  params: Json | undefined,
  capabilities: Json,
): Json | undefined {
  const key = NEEDED.get(method);
  if (key === undefined) return undefined;
  const declared = capabilities[key];
  if (!isObject(declared)) return { [key]: {} };
  // Before 2025-11-25 elicitation had no modes; an empty object means form.
  const needsUrl = method === "elicitation/create" && params?.["mode"] === "url";
  return needsUrl && !isObject(declared["url"]) ? { elicitation: { url: {} } } : undefined;
}
