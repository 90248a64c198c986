import { isDefault } from "../config/defaults.ts";
import { GatewayError, type Place } from "../kit/errors.ts";
import { isOfGateway } from "./scope.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import type { Inject } from "../kit/service.ts";

/** One plugin to be ordered. */
export interface GraphNode {
  readonly key: string;
  readonly plugin: AnyPlugin;
}

/** One entry of a plugin's `inject` map. */
export interface Injection {
  readonly field: string;
  /** Id of the service. */
  readonly id: string;
  /** Whether the plugin can do without. */
  readonly optional: boolean;
}

/** What a plugin injects. */
export function injections(plugin: AnyPlugin): readonly Injection[] {
  const inject = (plugin.inject ?? {}) as Inject;
  return Object.entries(inject).map(([field, wanted]) =>
    "optional" in wanted
      ? { field, id: wanted.optional.id, optional: true }
      : { field, id: wanted.id, optional: false },
  );
}

/**
 * Orders plugins so that providers come before those who inject them, and by name among equals: never by the config's order.
 *
 * @throws {GatewayError} `exists` for two plugins of one name or two providers of one service; `invalid` for a missing
 * service or a cycle. Every message names both sides, and the entry of one is its place.
 * @param placeOf the entry of a plugin's key
 */
export function orderPlugins<N extends GraphNode>(
  nodes: readonly N[],
  placeOf: (key: string) => Place | undefined = () => undefined,
): N[] {
  const sorted = nodes.toSorted(
    (a, b) => rank(a) - rank(b) || compare(a.plugin.name, b.plugin.name) || compare(a.key, b.key),
  );
  const refuse: Refuse = (code, { key }, message, hint) => {
    const place = placeOf(key);
    throw new GatewayError(code, message, { hint, ...(place && { place }) });
  };
  checkNames(sorted, refuse);
  const providers = providersOf(sorted, refuse);
  const done = new Set<N>();
  const path: N[] = [];
  const visit = (node: N): void => {
    if (done.has(node)) return;
    if (path.includes(node)) refuseCycle([...path.slice(path.indexOf(node)), node], refuse);
    path.push(node);
    for (const { id, optional } of injections(node.plugin)) {
      if (isOfGateway(id)) continue;
      const provider = providers.get(id);
      if (provider) visit(provider);
      else if (!optional) refuseWithout(node, id, refuse);
    }
    path.pop();
    done.add(node);
  };
  for (const node of sorted) visit(node);
  return [...done];
}

/** Throws, with the entry of a plugin as the place. */
type Refuse = (code: "exists" | "invalid", node: GraphNode, message: string, hint: string) => never;

/** What comes by default stands below what is asked for. */
function rank({ key }: GraphNode): number {
  return isDefault(key) ? 0 : 1;
}

/** Code unit order: the same on every machine, whatever its locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function checkNames(sorted: readonly GraphNode[], refuse: Refuse): void {
  const keys = new Map<string, string>();
  for (const node of sorted) {
    const { name } = node.plugin;
    const other = keys.get(name);
    if (other !== undefined) {
      const message = `Plugins "${other}" and "${node.key}" are both named "${name}".`;
      refuse("exists", node, message, "Remove one from the config.");
    }
    keys.set(name, node.key);
  }
}

function providersOf<N extends GraphNode>(
  sorted: readonly N[],
  refuse: Refuse,
): ReadonlyMap<string, N> {
  const providers = new Map<string, N>();
  for (const node of sorted) {
    const id = node.plugin.provides?.id;
    if (id === undefined) continue;
    if (isOfGateway(id)) {
      const message = `Plugin "${node.plugin.name}" provides the service "${id}", which is the gateway's own.`;
      refuse("exists", node, message, "Give the service another id.");
    }
    const other = providers.get(id);
    if (other) {
      const message = `Plugins "${other.plugin.name}" and "${node.plugin.name}" both provide the service "${id}".`;
      refuse("exists", node, message, "Remove one from the config.");
    }
    providers.set(id, node);
  }
  return providers;
}

function refuseWithout(node: GraphNode, id: string, refuse: Refuse): void {
  const message = `Plugin "${node.plugin.name}" needs the service "${id}", which no plugin provides.`;
  refuse("invalid", node, message, `Add a plugin that provides "${id}" to the config.`);
}

function refuseCycle(path: readonly GraphNode[], refuse: Refuse): void {
  const names = path.map(({ plugin }) => plugin.name).join(" -> ");
  const message = `Plugins need each other in a circle: ${names}.`;
  refuse(
    "invalid",
    path[0]!,
    message,
    "Remove one of them, or let one do without the service of the other.",
  );
}
