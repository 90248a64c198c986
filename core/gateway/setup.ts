import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isLocalPlugin } from "./check/checks.ts";
import type { CheckedConfig } from "./check/check.ts";
import type { Config } from "../config/config.ts";
import type { ZodType, output as ZodOutput } from "zod";
import { endpointSchema, listenerSchema } from "../config/schema.ts";
import { Endpoints, Listeners } from "../plugin/config-points.ts";
import { type EndpointServer, EndpointServers } from "../plugin/endpoint-server.ts";
import type { Added, Point } from "../plugin/point.ts";
import { READ_ONCE } from "../kit/check-shape.ts";
import { setTimer } from "../kit/timers.ts";
import { GatewayError, toGatewayError, type Place } from "../kit/errors.ts";
import { AUTH_PLUGIN, chosen, isDefault } from "../config/defaults.ts";
import { injections, orderPlugins } from "./graph.ts";
import type { Changes } from "../plugin/hooks.ts";
import { createRegistry } from "./metrics.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import { createContext } from "./registration.ts";
import { addedTo, createScope, sealScope, type Scope, type ScopeHost } from "./scope.ts";

/** Everything `buildScopes` works from. */
export interface BuildInput {
  readonly checked: CheckedConfig;
  /** Scopes of the running generation. */
  readonly current: readonly Scope[];
  readonly host: ScopeHost;
  /** Receives every scope as soon as it exists, so that a failure can undo it. */
  readonly onCreate: (scope: Scope) => void;
}

/**
 * The scopes of a config in graph order. One whose plugin, options and injected services are the previous ones is taken over
 * untouched; every other is newly made and set up.
 *
 * @throws {GatewayError} naming the plugin that cannot be ordered or set up
 */
export async function buildScopes({
  checked: { config, plugins },
  current,
  host,
  onCreate,
}: BuildInput): Promise<Scope[]> {
  const ordered = orderPlugins(plugins, (key) => placeOf(key, config, ""));
  const servers = new Map<string, Scope>();
  const scopes: Scope[] = [];
  for (const { key, plugin, written, options } of ordered) {
    const injected = new Map(injections(plugin).map(({ id }) => [id, servers.get(id)]));
    let scope = current.find((old) => isUnchanged(old, key, plugin, written, injected));
    if (!scope) {
      const registry = isDefault(key) ? undefined : await createRegistry();
      scope = createScope({ key, plugin, options: written, injected, registry }, host);
      onCreate(scope);
      await setUp(scope, options, host, config);
      readAdded(scope, EndpointServers, config, checkEndpointServer);
    }
    if (plugin.provides) servers.set(plugin.provides.id, scope);
    scopes.push(scope);
  }
  return scopes;
}

/**
 * The config with the listeners and endpoints that plugins brought. They are opened, kept and closed like the config's own.
 *
 * @throws {GatewayError} `exists` for a name that is taken, naming both sides; `invalid` for settings that cannot be used
 */
export function extendConfig(config: Config, scopes: readonly Scope[]): Config {
  const { listeners, endpoints } = config.values;
  const added = <S extends ZodType>(
    kind: string,
    point: Point<{ readonly name: string }>,
    schema: S,
    known: Readonly<Record<string, ZodOutput<S>>>,
  ): Record<string, ZodOutput<S>> => {
    const all = { ...known };
    const owners = new Map<string, string>();
    for (const scope of scopes)
      for (const { name, ...settings } of readAdded(scope, point, config, checkName)) {
        if (Object.hasOwn(all, name))
          throw new GatewayError(
            "exists",
            `Plugin "${scope.name}" brings the ${kind} "${name}", which ${owners.get(name) ?? "the config"} has already.`,
          );
        owners.set(name, `plugin "${scope.name}"`);
        all[name] = readSettings(scope.name, `${kind} "${name}"`, () =>
          schema.parse(settings, READ_ONCE),
        );
      }
    return all;
  };
  return config.with({
    listeners: added("listener", Listeners, listenerSchema, listeners),
    endpoints: added("endpoint", Endpoints, endpointSchema, endpoints),
  });
}

/**
 * What a plugin added to a point that the gateway reads before points are opened.
 *
 * @param check throws for a value that cannot be used
 * @throws {GatewayError} `invalid`, naming the plugin and its place in the config
 */
export function readAdded<T>(
  scope: Scope,
  point: Point<T>,
  config: Config,
  check: (value: T) => void,
): readonly T[] {
  const { key, name: plugin } = scope;
  const values = addedTo(scope, point);
  for (const value of values)
    try {
      if (typeof value !== "object" || value === null)
        throw new GatewayError("invalid", "it is not an object");
      check(value);
    } catch (error) {
      throw blameAdded({ key, plugin, point }, error, config);
    }
  return values;
}

/** Tells whose value it was that a point cannot use, and what is wrong with it. */
export function blameAdded(
  {
    key,
    plugin,
    point,
  }: Pick<Added, "key" | "plugin"> & { readonly point: { readonly id: string } },
  error: unknown,
  config: Config,
): GatewayError {
  return blame(plugin, `adds to ${point.id} what cannot be used`, error, { key, config });
}

function checkName({ name }: { readonly name: unknown }): void {
  // As a key, `__proto__` is not a member.
  if (typeof name === "string" && name !== "" && name !== "__proto__") return;
  throw new GatewayError("invalid", "it has no name that can be used", {
    hint: 'Give it a name, e.g. name: "inside".',
  });
}

function readSettings<T>(plugin: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new GatewayError(
      "invalid",
      `Plugin "${plugin}" brings the ${what} with settings that cannot be used.`,
      { cause: toGatewayError(cause) },
    );
  }
}

/** What happened to the plugins between two generations, by config key. */
export function comparePlugins(before: readonly Scope[], after: readonly Scope[]): Changes {
  const old = new Map(chosen(before).map((scope) => [scope.key, scope]));
  const now = new Map(chosen(after).map((scope) => [scope.key, scope]));
  const keys = [...now.keys()].toSorted();
  return {
    added: keys.filter((key) => !old.has(key)),
    removed: [...old.keys()].filter((key) => !now.has(key)).toSorted(),
    changed: keys.filter((key) => old.has(key) && old.get(key) !== now.get(key)),
    unchanged: keys.filter((key) => old.get(key) === now.get(key)),
  };
}

/** Rejects when the work takes longer than the time. */
export async function withTimeout<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimer(
      () => reject(new GatewayError("timeout", `${what} took longer than ${ms} ms.`)),
      ms,
    );
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Puts the plugin's name in front of whatever went wrong in it.
 *
 * @param at its entry, which is pointed at, as is the line of its own file that failed
 */
export function blame(
  plugin: string,
  doing: string,
  thrown: unknown,
  at?: { readonly key: string; readonly config: Config },
): GatewayError {
  const error = toGatewayError(thrown);
  const words =
    error.code === "internal" && thrown instanceof Error ? thrown.message : error.message;
  const line = at && lineOf(at.key, thrown);
  const told = line === undefined ? words : `${words.replace(/\.$/, "")} (${line})`;
  const message = `Plugin "${plugin}" ${doing}: ${told.replace(/([^.?!])$/, "$1.")}`;
  const { hint } = error;
  const place = error.place ?? (at && placeOf(at.key, at.config, message));
  return new GatewayError(error.code, message, {
    cause: thrown,
    ...(hint !== undefined && { hint }),
    ...(place && { place }),
    ...(error.data && { data: error.data }),
  });
}

function placeOf(key: string, config: Config, message: string): Place {
  const path = key === AUTH_PLUGIN ? ["auth"] : ["plugins", key];
  return config.place({ path, at: "key", message, hint: "" }).place;
}

/** Where a plugin in a file of the gateway failed, e.g. `hello.ts:11:25`; its folder is nobody's business. */
function lineOf(key: string, thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !isLocalPlugin(key)) return undefined;
  const name = basename(key);
  const frame = thrown.stack?.split("\n").find((line) => line.includes(`/${name}:`));
  const numbers = /:\d+:\d+(?=\)?$)/.exec(frame ?? "");
  return numbers ? `${name}${numbers[0]}` : undefined;
}

const METHODS = ["update", "handlersOf", "relist", "namesOf", "revoke", "close"] as const;

/** One that fails in the turn of a swap leaves the gateway between two configs. */
function checkEndpointServer(server: EndpointServer): void {
  const missing = METHODS.find((method) => typeof server[method] !== "function");
  if (missing !== undefined)
    throw new GatewayError("invalid", `the server of endpoints has no ${missing}()`);
  if (!Array.isArray(server.problems))
    throw new GatewayError("invalid", "the problems of the server of endpoints are not a list");
}

/** What it opened for clients ends with the plugin, behind all that the plugin undoes itself. */
function closeEndpointsLast(scope: Scope, host: ScopeHost): void {
  for (const server of addedTo(scope, EndpointServers))
    scope.cleanups.unshift(() => {
      // One that a plugin keeps through reloads serves on.
      if (!host.servesEndpoints(server)) (server as Partial<EndpointServer> | null)?.close?.();
    });
}

function isUnchanged(
  old: Scope,
  key: string,
  plugin: AnyPlugin,
  options: unknown,
  injected: ReadonlyMap<string, object | undefined>,
): boolean {
  if (old.key !== key || old.plugin !== plugin || !isDeepStrictEqual(old.options, options))
    return false;
  if (old.sources.isChanged()) return false;
  return [...injected].every(([id, server]) => old.injected.get(id) === server);
}

async function setUp(
  scope: Scope,
  options: unknown,
  host: ScopeHost,
  config: Config,
): Promise<void> {
  const { key, name, plugin } = scope;
  try {
    const context = await createContext(scope, options, host);
    const setup = (async (): Promise<unknown> => plugin.setup(context) as unknown)();
    scope.service = await withTimeout(setup, config.values.timeouts.setup, "setup").finally(() =>
      closeEndpointsLast(scope, host),
    );
    if (plugin.provides && scope.service === undefined)
      throw new GatewayError(
        "invalid",
        `setup returned nothing for the service "${plugin.provides.id}"`,
      );
    sealScope(scope);
    if (!scope.local.isEmpty) scope.local.compile();
    for (const server of [scope.local, ...scope.servers])
      scope.cleanups.push(server.on((event) => host.onEvent(server.name, event)));
  } catch (error) {
    throw blame(name, "could not be set up", error, { key, config });
  }
}
