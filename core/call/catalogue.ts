import { createHash } from "node:crypto";
import type { Catalogue } from "./server.ts";

/**
 * The lists that a server can announce changes of.
 *
 * @example tracker.emit({ type: "changed", lists: LISTS });
 */
export const LISTS = ["tools", "resources", "prompts"] as const;

/**
 * One of the lists that a server announces changes of.
 *
 * @example const list: ListName = "tools";
 */
export type ListName = (typeof LISTS)[number];

/**
 * Makes the catalogue of a server of what it has; its hash is that of the four lists, so it does not change with the rest.
 *
 * @param content what is left out is empty; `capabilities` by default say that tools may change
 *
 * @example makeCatalogue({ tools: [{ name: "add", inputSchema: { type: "object" } }] });
 */
export function makeCatalogue(content: Partial<Omit<Catalogue, "hash">>): Catalogue {
  const { tools = [], resources = [], resourceTemplates = [], prompts = [], ...rest } = content;
  const hash = createHash("sha256")
    .update(JSON.stringify([tools, resources, resourceTemplates, prompts]))
    .digest("hex");
  return {
    capabilities: { tools: { listChanged: true } },
    ...rest,
    tools,
    resources,
    resourceTemplates,
    prompts,
    hash,
  };
}

/**
 * The lists whose content differs; templates count as resources, as their changes are announced together (MCP, resources).
 *
 * @example tracker.emit({ type: "changed", lists: changedLists(before, after) });
 */
export function changedLists(before: Catalogue, after: Catalogue): ListName[] {
  if (before.hash === after.hash) return [];
  return LISTS.filter((list) => contentOf(before, list) !== contentOf(after, list));
}

function contentOf(catalogue: Catalogue, list: ListName): string {
  const { resourceTemplates } = catalogue;
  return JSON.stringify([catalogue[list], list === "resources" && resourceTemplates]);
}
