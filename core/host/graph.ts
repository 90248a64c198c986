import { GatewayError } from "../errors.ts";
import type { AnyPlugin } from "../plugin.ts";
import type { Inject } from "../service.ts";

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
 * service or a cycle. Every message names both sides.
 */
export function orderPlugins<N extends GraphNode>(nodes: readonly N[]): N[] {
  const sorted = nodes.toSorted(
    (a, b) => compare(a.plugin.name, b.plugin.name) || compare(a.key, b.key),
  );
  checkNames(sorted);
  const providers = providersOf(sorted);
  const done = new Set<N>();
  const path: N[] = [];
  const visit = (node: N): void => {
    if (done.has(node)) return;
    if (path.includes(node)) throw cycle([...path.slice(path.indexOf(node)), node]);
    path.push(node);
    for (const { id, optional } of injections(node.plugin)) {
      const provider = providers.get(id);
      if (provider) visit(provider);
      else if (!optional) throw missing(node, id);
    }
    path.pop();
    done.add(node);
  };
  for (const node of sorted) visit(node);
  return [...done];
}

/** Code unit order: the same on every machine, whatever its locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function checkNames(sorted: readonly GraphNode[]): void {
  for (const [index, { key, plugin }] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next?.plugin.name !== plugin.name) continue;
    throw new GatewayError(
      "exists",
      `Plugins "${key}" and "${next.key}" are both named "${plugin.name}".`,
      { hint: "Remove one from the config." },
    );
  }
}

function providersOf<N extends GraphNode>(sorted: readonly N[]): ReadonlyMap<string, N> {
  const providers = new Map<string, N>();
  for (const node of sorted) {
    const id = node.plugin.provides?.id;
    if (id === undefined) continue;
    const other = providers.get(id);
    if (other) {
      throw new GatewayError(
        "exists",
        `Plugins "${other.plugin.name}" and "${node.plugin.name}" both provide the service "${id}".`,
        {
          hint: "Remove one from the config.",
        },
      );
    }
    providers.set(id, node);
  }
  return providers;
}

function missing({ plugin }: GraphNode, id: string): GatewayError {
  return new GatewayError(
    "invalid",
    `Plugin "${plugin.name}" needs the service "${id}", which no plugin provides.`,
    {
      hint: `Add a plugin that provides "${id}" to the config.`,
    },
  );
}

function cycle(path: readonly GraphNode[]): GatewayError {
  return new GatewayError(
    "invalid",
    `Plugins need each other in a circle: ${path.map(({ plugin }) => plugin.name).join(" -> ")}.`,
  );
}
