import type { Json, Server } from "propylon";
import { isObject } from "propylon/kit";
import { TASKS_EXTENSION } from "./protocol.ts";

/**
 * What an endpoint declares to its clients: everything any of its servers can do. Tools are always there, because plugins
 * and servers may add them at any time. Tasks of servers are not relayed, so not declared.
 */
export function mergeCapabilities(servers: readonly Server[]): Json {
  const all = servers.map((server) => server.catalogue.capabilities);
  const has = (key: string): boolean => all.some((capabilities) => isObject(capabilities[key]));
  const extensions = mergeExtensions(all);
  return {
    tools: { listChanged: true },
    ...(has("resources") && { resources: { subscribe: true, listChanged: true } }),
    ...(has("prompts") && { prompts: { listChanged: true } }),
    ...(has("completions") && { completions: {} }),
    ...(has("logging") && { logging: {} }),
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
}

/** Extensions whose messages pass through unchanged, e.g. MCP Apps; the first server's settings win. */
function mergeExtensions(all: readonly Json[]): Json {
  const lists = all.map(({ extensions }) =>
    isObject(extensions) ? Object.entries(extensions) : [],
  );
  return Object.fromEntries(
    lists
      .toReversed()
      .flat()
      .filter(([id]) => id !== TASKS_EXTENSION),
  );
}

/** Capabilities with the gateway's own tasks. */
export function withTasks(capabilities: Json): Json {
  const { extensions } = capabilities;
  const own = isObject(extensions) ? extensions : {};
  return { ...capabilities, extensions: { ...own, [TASKS_EXTENSION]: {} } };
}

/** The usage notes of all servers; with a heading each when there are several. */
export function mergeInstructions(servers: readonly Server[]): string | undefined {
  const notes = servers.flatMap(({ name, catalogue }) =>
    catalogue.instructions ? [{ name, text: catalogue.instructions }] : [],
  );
  if (notes.length <= 1) return notes[0]?.text;
  return notes.map(({ name, text }) => `## ${name}\n\n${text}`).join("\n\n");
}

/** Client capability that a request to the client needs, by method. */
const NEEDED: ReadonlyMap<string, string> = new Map([
  ["sampling/createMessage", "sampling"],
  ["elicitation/create", "elicitation"],
  ["roots/list", "roots"],
]);

/** The capability a client lacks for a request to it, in the form of its own declaration; `undefined` if it lacks none. */
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
