import type { Json, Server } from "propylon";
import { isObject } from "propylon/kit";
import { TASKS_EXTENSION } from "propylon/internal";

/**
 * What an endpoint declares to its clients: everything any of its servers can do. Tools are always there, because plugins
 * and servers may add them at any time. Tasks are the gateway's own: {@link ModernFace} declares them.
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

/** The usage notes of all servers; with a heading each when there are several. */
export function mergeInstructions(servers: readonly Server[]): string | undefined {
  const notes = servers.flatMap(({ name, catalogue }) =>
    catalogue.instructions ? [{ name, text: catalogue.instructions }] : [],
  );
  if (notes.length <= 1) return notes[0]?.text;
  return notes.map(({ name, text }) => `## ${name}\n\n${text}`).join("\n\n");
}
