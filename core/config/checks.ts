import { SPELLINGS } from "./clients.ts";
import { isPlainObject } from "./variables.ts";
import { isLoopback } from "../http/allowed-hosts.ts";
import { resolve } from "node:path";
import { hasCredentials } from "../http/auth/authenticator.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import { hasPlugin } from "./code.ts";
import type { PathIssue } from "./issue.ts";
import type { GatewayConfig, ListenerConfig } from "./schema.ts";
import { nearest } from "./spelling.ts";

/** What a config amounts to with what its plugins bring. */
export interface Composed {
  /** Names of all servers. */
  readonly servers: readonly string[];
  /** Whether nobody authenticates. */
  readonly isOpen: boolean;
}

/**
 * Problems between parts of a config that each are right by themselves.
 *
 * @param cwd folder of the config file: what `./x` is relative to
 */
export function checkConfig(config: GatewayConfig, cwd: string): PathIssue[] {
  const own = { servers: Object.keys(config.servers), isOpen: !hasCredentials(config.auth) };
  return [
    ...checkListeners(config),
    // What plugins add shows when they are set up.
    ...(hasPlugins(config) ? [] : [...checkComposed(config, own), ...checkTypes(config)]),
    ...checkCommands(config),
    ...checkPlugins(config, cwd),
  ];
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
  return [...servers.entries()]
    .filter(([, server]) => !known.includes(server))
    .map(([index, server]) => ({
      path: ["endpoints", endpoint, "servers", index],
      message: `The endpoint "${endpoint}" names a server "${server}" that does not exist.`,
      hint: choose(server, known),
    }));
}

function hasPlugins(config: GatewayConfig): boolean {
  return Object.values(config.plugins).some((options) => options !== false);
}

/** The next step for a name that does not exist. */
export function choose(name: string, known: readonly string[]): string {
  const similar = nearest(name, known);
  if (similar !== undefined) return `Did you mean "${similar}"?`;
  return known.length === 0 ? "There are none yet; add it." : `There are: ${known.join(", ")}.`;
}

/** `command: npx -y foo`: no shell takes it apart, so a program of that whole name would be looked for. */
function checkCommands(config: GatewayConfig): PathIssue[] {
  return Object.entries(config.servers).flatMap(([name, server]) => {
    const command = "command" in server && !("type" in server) ? server.command.trim() : "";
    const [program, ...args] = command.split(/\s+/);
    if (args.length === 0 || !/^[\w@.+-]+$/.test(program!)) return [];
    const written = `command: ${program} and args: ${JSON.stringify(args)}`;
    const issue = {
      path: ["servers", name, "command"],
      message: `The command of "${name}" has its arguments in it.`,
      hint: `Write ${written} if no argument holds a blank; no shell reads a command.`,
    };
    return [issue];
  });
}

/** Server types of the plugins that come with Propylon, and which plugin that is. */
const TYPE_PLUGINS: Readonly<Record<string, string>> = { a2a: "a2a", openapi: "openapi" };

/** Without any plugin there is nobody to bring a type; what plugins bring only shows when they are set up. */
function checkTypes(config: GatewayConfig): PathIssue[] {
  return Object.entries(config.servers).flatMap(([name, server]) =>
    "type" in server ? [unknownType(name, server.type, [])] : [],
  );
}

/**
 * What is said about an entry of `servers` whose `type` nobody serves.
 * @param brought types that the plugins in use bring
 */
export function unknownType(name: string, type: string, brought: readonly string[]): PathIssue {
  const known = [...SPELLINGS, ...brought];
  const plugin = Object.hasOwn(TYPE_PLUGINS, type) ? TYPE_PLUGINS[type] : undefined;
  const similar = nearest(type, [...known, ...Object.keys(TYPE_PLUGINS)]);
  const meant = similar === undefined ? "" : ` Did you mean "${similar}"?`;
  return {
    path: ["servers", name, "type"],
    message: `No plugin in use brings the server type ${JSON.stringify(type)}.`,
    hint:
      plugin === undefined
        ? `Types: ${known.join(", ")}; others come with plugins.${meant}`
        : `Add the plugin that does: plugins: { ${plugin}: {} }.`,
  };
}

function checkPlugins(config: GatewayConfig, cwd: string): PathIssue[] {
  return Object.entries(config.plugins)
    .filter(
      ([key, options]) => options !== false && isLocalPlugin(key) && !hasPlugin(resolve(cwd, key)),
    )
    .map(([key]) => ({
      path: ["plugins", key],
      at: "key",
      message: `The plugin file ${key} does not exist.`,
      hint: "The path is relative to the config file; check its spelling and ending.",
    }));
}

/** What agents say of servers and listeners; everything else about them their plugin checks. */
export function checkAgents(config: GatewayConfig, plugins: readonly AnyPlugin[]): PathIssue[] {
  const agents = agentsOf(config);
  if (agents === undefined) return [];
  const names = Object.keys(agents);
  const servers = [...Object.keys(config.servers), ...plugins.map(({ name }) => name)];
  return Object.entries(agents).flatMap(([name, agent]) => {
    const unknown = (key: string, known: readonly string[]): PathIssue[] =>
      namesIn(agent, key)
        .filter(({ value }) => !known.includes(value))
        .map(({ value, path }) => ({
          path: [...AGENTS, name, ...path],
          message: `The agent "${name}" names a ${key === "listener" ? "listener" : "server"} "${value}" that does not exist.`,
          hint: choose(value, known),
        }));
    return [
      ...unknown("server", servers),
      ...unknown("servers", servers),
      ...unknown("dependsOn", [...servers, ...names]),
      ...unknown("listener", Object.keys(config.listeners)),
    ];
  });
}

const AGENTS = ["plugins", "agents", "agents"] as const;

/** The agents as written; `undefined` where there are none, or they are nothing that can be looked into. */
function agentsOf({ plugins }: GatewayConfig): Record<string, unknown> | undefined {
  const options = plugins["agents"];
  const agents = typeof options === "object" && options !== null ? options["agents"] : undefined;
  return isPlainObject(agents) ? agents : undefined;
}

/** The texts at a key of an agent, be it one or a list. */
function namesIn(
  agent: unknown,
  key: string,
): { readonly value: string; readonly path: readonly (string | number)[] }[] {
  const found = isPlainObject(agent) ? agent[key] : undefined;
  if (typeof found === "string") return [{ value: found, path: [key] }];
  if (!Array.isArray(found)) return [];
  return found.flatMap((value: unknown, index) =>
    typeof value === "string" ? [{ value, path: [key, index] }] : [],
  );
}

/** Whether a plugin key names a file beside the config. */
export function isLocalPlugin(key: string): boolean {
  return key.startsWith("./") || key.startsWith("../") || key.startsWith("/");
}
