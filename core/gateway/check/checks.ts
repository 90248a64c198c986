import {
  JWT,
  KEYS,
  hasCredentials,
  uncheckedCredentials,
  AUTH_PLUGIN,
  schemeOf,
  STORE_PLUGINS,
} from "../../config/defaults.ts";
import { isLoopback } from "../../kit/addresses.ts";
import type { OptionReference, StoreAbility, StoreKind } from "../../plugin/definitions.ts";
import type { PathIssue } from "../../config/issue.ts";
import type { CheckedPlugin } from "./plugin-module.ts";
import type { GatewayConfig, ListenerConfig } from "../../config/schema.ts";
import { isCoreKey, sectionOf } from "./sections.ts";
import { choose, nearest } from "../../kit/spelling.ts";

/** In words, and the store to take. */
const ABILITIES: Readonly<Record<StoreAbility, { readonly does: string; readonly take: string }>> =
  {
    queue: { does: "hands out work", take: "store: nats://..." },
    tables: {
      does: "holds tables",
      take: "store: sqlite:./data/gateway.db or store: postgres://...",
    },
  };

/** What a config amounts to with what its plugins bring. */
export interface Composed {
  /** Names of all servers. */
  readonly servers: readonly string[];
  /** Whether nobody authenticates. */
  readonly isOpen: boolean;
}

/** Problems between parts of a config that each are right on their own, and that have nothing to do with its plugins. */
export function checkParts(config: GatewayConfig): PathIssue[] {
  return checkListeners(config);
}

/** The same between parts that plugins may bring or name. */
export function checkWithPlugins(
  config: GatewayConfig,
  plugins: readonly CheckedPlugin[],
): PathIssue[] {
  const own = { servers: Object.keys(config.servers), isOpen: !hasCredentials(config.auth) };
  return [
    // What plugins add shows when they are set up.
    ...(hasPlugins(config) ? [] : checkComposed(config, own)),
    ...checkClaims(plugins),
    ...uncheckedCredentials(config.auth, plugins.some(readsAuth) ? [KEYS, JWT] : []),
    ...checkReferences(config, plugins),
  ];
}

/** Whether a plugin is the one that checks credentials. */
export function readsAuth({ key, plugin }: Pick<CheckedPlugin, "key" | "plugin">): boolean {
  return key === AUTH_PLUGIN && sectionOf(plugin)?.key === "auth";
}

/** Problems with parts that plugins can bring too: authentication, servers, listeners and endpoints. */
export function checkComposed(config: GatewayConfig, composed: Composed): PathIssue[] {
  return [...checkExposure(config, composed), ...checkEndpoints(config, composed)];
}

function checkListeners(config: GatewayConfig): PathIssue[] {
  const listeners = Object.entries(config.listeners);
  if (listeners.length === 0)
    return [
      {
        path: ["listeners"],
        message: "There is no listener.",
        hint: "Add one, e.g. main: { port: 8080 }, or remove the line for the default.",
      },
    ];
  return listeners.flatMap(([name, listener], index) => {
    const other = listeners
      .slice(0, index)
      .find(
        ([, earlier]) =>
          listener.port !== 0 && earlier.port === listener.port && overlap(earlier, listener),
      );
    if (!other) return [];
    return [
      {
        path: ["listeners", name, "port"],
        message: `The listeners "${other[0]}" and "${name}" share port ${listener.port}.`,
        hint: "Give one of them another port, or 0 for a free one.",
      },
    ];
  });
}

function overlap(left: ListenerConfig, right: ListenerConfig): boolean {
  const any = new Set(["0.0.0.0", "::"]);
  return left.host === right.host || any.has(left.host) || any.has(right.host);
}

/** An open port without a key would let anyone on the network run every tool. */
function checkExposure({ insecure, listeners }: GatewayConfig, { isOpen }: Composed): PathIssue[] {
  if (insecure || !isOpen) return [];
  return Object.entries(listeners)
    .filter(([, listener]) => !isLoopback(listener.host))
    .map(([name, listener]) => ({
      path: ["listeners", name, "host"],
      message: `The listener "${name}" is open to the network (${listener.host}) without authentication.`,
      hint: "Set auth.apiKey, bind 127.0.0.1, or write insecure: true if that is what you want.",
    }));
}

function checkEndpoints(config: GatewayConfig, composed: Composed): PathIssue[] {
  const issues: PathIssue[] = [];
  const first = Object.keys(config.listeners)[0] ?? "";
  const taken = new Map<string, string>();
  for (const [name, endpoint] of Object.entries(config.endpoints)) {
    const listener = endpoint.listener ?? first;
    if (!Object.hasOwn(config.listeners, listener)) {
      issues.push({
        path: ["endpoints", name, "listener"],
        message: `The endpoint "${name}" is on a listener "${listener}" that does not exist.`,
        hint: choose(listener, Object.keys(config.listeners)),
      });
    }
    const place = `${listener} ${endpoint.path}`;
    const other = taken.get(place);
    if (other !== undefined)
      issues.push({
        path: ["endpoints", name, "path"],
        message: `The endpoints "${other}" and "${name}" share the path ${endpoint.path} of the listener "${listener}".`,
        hint: "Give one of them another path or listener.",
      });
    else taken.set(place, name);
    issues.push(...checkSelection(name, endpoint.servers ?? [], composed.servers));
  }
  return issues;
}

function checkSelection(
  endpoint: string,
  servers: readonly string[],
  known: readonly string[],
): PathIssue[] {
  const by = `The endpoint "${endpoint}"`;
  return [...servers.entries()]
    .filter(([, name]) => !known.includes(name))
    .map(([index, name]) => {
      const path = ["endpoints", endpoint, "servers", index];
      return unknownName({ path, by, kind: "server", name, known });
    });
}

function hasPlugins(config: GatewayConfig): boolean {
  return Object.values(config.plugins).some((options) => options !== false);
}

/** Sections that cannot be had: those of the core, and those that two plugins claim. */
function checkClaims(plugins: readonly CheckedPlugin[]): PathIssue[] {
  const owners = new Map<string, string>();
  return plugins.flatMap(({ key, plugin }) => {
    const section = sectionOf(plugin)?.key;
    if (section === undefined || readsAuth({ key, plugin })) return [];
    const other = owners.get(section);
    owners.set(section, plugin.name);
    const message = isCoreKey(section)
      ? `The plugin "${plugin.name}" claims the section ${section}, which the gateway has itself.`
      : `The plugins "${other}" and "${plugin.name}" claim the section ${section}.`;
    const hint = "Leave the plugin out, or use a version of it that does not.";
    const isFree = !isCoreKey(section) && other === undefined;
    return isFree ? [] : [{ path: ["plugins", key], at: "key" as const, message, hint }];
  });
}

/** Servers and listeners that options of plugins name, and that do not exist. */
function checkReferences(config: GatewayConfig, plugins: readonly CheckedPlugin[]): PathIssue[] {
  const known = {
    server: [...Object.keys(config.servers), ...plugins.map(({ plugin }) => plugin.name)],
    listener: Object.keys(config.listeners),
  };
  return plugins.flatMap(({ key, needs }) =>
    (needs.references ?? [])
      .map((reference) => ({
        ...reference,
        path: ["plugins", key, ...reference.path],
        known: [...known[reference.kind], ...(reference.also ?? [])],
      }))
      .filter((reference) => !reference.known.includes(reference.name))
      .map(unknownName),
  );
}

/** What is said about the name of something that does not exist. */
function unknownName({
  path,
  by,
  kind,
  name,
  known,
}: OptionReference & { readonly known: readonly string[] }): PathIssue {
  return {
    path,
    message: `${by} names a ${kind} "${name}" that does not exist.`,
    hint: choose(name, known),
  };
}

/** Whether a plugin key names a file beside the config. */
export function isLocalPlugin(key: string): boolean {
  return key.startsWith("./") || key.startsWith("../") || key.startsWith("/");
}

/** What is wrong with the `store` of a config, and with options that need more of it than it can do. */
export function storeIssues(
  { store }: GatewayConfig,
  plugins: readonly CheckedPlugin[],
): readonly PathIssue[] {
  const scheme = schemeOf(store);
  const kind = findStore(plugins, store)?.kind;
  if (store === "memory" || kind) return needIssues(scheme, kind?.abilities, plugins);
  const known = ["memory", ...STORE_PLUGINS.keys()];
  const plugin = STORE_PLUGINS.get(scheme);
  const meant = nearest(scheme, known);
  return [
    {
      path: ["store"],
      message: `No plugin in use brings the store ${JSON.stringify(scheme)}.`,
      hint:
        plugin === undefined
          ? `Stores: ${known.join(", ")}; others come with plugins.${meant === undefined ? "" : ` Did you mean "${meant}"?`}`
          : `Leave out plugins.${plugin}: false, or take another store.`,
    },
  ];
}

/** Options that need more of the store than it can do. */
function needIssues(
  scheme: string,
  abilities: readonly StoreAbility[] = [],
  plugins: readonly CheckedPlugin[],
): readonly PathIssue[] {
  return plugins.flatMap(({ key, needs }) =>
    (needs.store ?? [])
      .filter(({ ability }) => !abilities.includes(ability))
      .map(({ path, ability, by }) => ({
        path: ["plugins", key, ...path],
        message: `${by}, which needs a store that ${ABILITIES[ability].does}; the store ${JSON.stringify(scheme)} does not.`,
        hint: `Set ${ABILITIES[ability].take}, or leave the option out.`,
      })),
  );
}

/** The kind of the `store` of a config, and the plugin that brings it. */
export function findStore(
  plugins: readonly CheckedPlugin[],
  store: string,
): { readonly kind: StoreKind; readonly by: CheckedPlugin } | undefined {
  const scheme = schemeOf(store);
  for (const by of plugins) {
    const { stores = {} } = by.plugin;
    if (Object.hasOwn(stores, scheme)) return { kind: stores[scheme]!, by };
  }
  return undefined;
}
