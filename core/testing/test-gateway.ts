import { createFileGateway } from "../file/create-file-gateway.ts";
import { createGateway } from "../gateway/management/create.ts";
import type { GatewayOptions } from "../gateway/gateway-options.ts";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { withContainer } from "../file/container.ts";
import type { GatewayConfigInput } from "../config/schema.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Identity } from "../kit/types.ts";
import { isObject } from "../kit/json.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import { introduce } from "./as.ts";
import { connectClient, type ClientOptions } from "./client.ts";

/** What throws answers clients with a sentence; the cause stands in the log alone, and an author needs it. */
const errors = pino({ level: "error" }, pino.destination(2));

/** A plugin, or a plugin with its options. */
export type PluginEntry =
  | AnyPlugin
  | readonly [plugin: AnyPlugin, options: Record<string, unknown>];

/** What a test wants to run. */
export interface GatewaySetup extends Omit<GatewayOptions, "plugins" | "file"> {
  /**
   * Path of a config file to run in place of {@link config}, with reload, plan and edit. {@link plugins} are at hand for the
   * keys it names, without options. Its `listeners` and those of its plugins are put on free ports, unless
   * {@link ports} says otherwise.
   */
  readonly file?: string;
  /** Variables for the config {@link file}, above those of the process and of `.env`. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Plugins under their own names. */
  readonly plugins?: readonly PluginEntry[];
  /** `written` leaves the ports of {@link file} alone, for parts that must know each other's; default `free`. */
  readonly ports?: "free" | "written";
  /** The rest of the config; `listeners` default to one on a free port of 127.0.0.1. */
  readonly config?: GatewayConfigInput;
  /**
   * Who the client is, e.g. `team("kottos", ["lib-a"])`: it gets a token of its own, and everybody else needs credentials then. Default:
   * what the config makes of it.
   */
  readonly as?: Identity;
  /** How the client presents itself; `false` connects none. It has the config's `auth.apiKey`, unless it brings headers. */
  readonly client?: ClientOptions | false;
}

/** A running gateway with a client connected to its first endpoint. */
export interface TestGateway {
  readonly gateway: Gateway;
  readonly client: Client;
  /** Base URL of the first listener, without a trailing slash. */
  readonly url: string;
  /** The credentials that the client sends, for requests of the test's own. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Starts a real gateway on a free port and connects a real MCP client. Both are closed when the running test ends; a test
 * that closes the gateway itself may do so.
 */
export async function setupGateway(setup: GatewaySetup = {}): Promise<TestGateway> {
  const { client: wanted = {}, as, ...wish } = setup;
  const known = as && introduce(as);
  const gateway = await createUnderTest(known ? withPlugin(wish, known.plugin) : wish);
  onTestFinished(() => gateway.close({ grace: 1_000 }));
  await gateway.listen();
  const [address] = gateway.addresses.values();
  const [endpoint] = gateway.endpoints;
  const headers = known?.headers ?? keyHeaders(gateway);
  if (wanted === false || !endpoint)
    return { gateway, url: address!.url, client: absentClient(), headers };
  const client = await connectClient(endpoint.url, { headers, ...wanted });
  onTestFinished(() => client.close());
  return { gateway, client, url: address!.url, headers };
}

function keyHeaders({ config }: Gateway): Record<string, string> {
  const { apiKey } = config.auth;
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

type SetupUnderTest = Omit<GatewaySetup, "client" | "as"> & {
  /** Plugins that join a config {@link GatewaySetup.file}. */
  readonly joins?: readonly string[];
};

function withPlugin(wish: SetupUnderTest, plugin: AnyPlugin): SetupUnderTest {
  return { ...wish, plugins: [...(wish.plugins ?? []), plugin], joins: [plugin.name] };
}

function createUnderTest({
  plugins = [],
  config = {},
  file,
  environment = {},
  ports = "free",
  joins = [],
  ...options
}: SetupUnderTest): Promise<Gateway> {
  const named = toRecords(plugins);
  const log = options.log ?? errors;
  if (file !== undefined) {
    const variables = { ...process.env, ...environment };
    const free = ports === "free" ? freePorts() : undefined;
    const adjust = (value: Record<string, unknown>): Record<string, unknown> => {
      const served = withJoined(withContainer(value, variables), joins);
      return withoutWorkers(free ? free(served) : served);
    };
    return createFileGateway(file, {
      log,
      plugins: named.plugins,
      environment: variables,
      adjust,
    });
  }
  return createGateway(
    {
      listeners: { main: { port: 0 } },
      ...config,
      plugins: { ...named.options, ...config.plugins },
    },
    { ...options, log, plugins: named.plugins },
  );
}

/** A config file with plugins that it does not name. */
function withJoined(
  value: Record<string, unknown>,
  joins: readonly string[],
): Record<string, unknown> {
  if (joins.length === 0) return value;
  const joined = Object.fromEntries(joins.map((name) => [name, {}]));
  return { ...value, plugins: { ...(value["plugins"] as object | undefined), ...joined } };
}

/**
 * So that a test can run the very config that is deployed, beside others and itself: ports of its listeners, and of those that
 * plugins bring (`listener: { port }`), are free ones. A listener that an edit adds has the port it was given.
 */
function freePorts(): (value: Record<string, unknown>) => Record<string, unknown> {
  let first: ReadonlySet<string> | undefined;
  return (value) => {
    const listeners = (value["listeners"] ?? { main: {} }) as Record<string, object | null>;
    first ??= new Set(Object.keys(listeners));
    return withFreePorts(value, listeners, first);
  };
}

function withFreePorts(
  value: Record<string, unknown>,
  listeners: Readonly<Record<string, object | null>>,
  first: ReadonlySet<string>,
): Record<string, unknown> {
  const entries = Object.entries(listeners).map(([name, each]) => [
    name,
    first.has(name) ? { ...each, port: 0 } : each,
  ]);
  return {
    ...(withoutPort(value) as object),
    listeners: Object.fromEntries(entries) as unknown,
  };
}

/** A test runs a gateway in its own process. */
function withoutWorkers(value: Record<string, unknown>): Record<string, unknown> {
  return "workers" in value ? { ...value, workers: 1 } : value;
}

function withoutPort(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPort);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    key === "listener" && isObject(inner) && "port" in inner
      ? { ...inner, port: 0 }
      : withoutPort(inner),
  ]);
  return Object.fromEntries(entries);
}

/** Plugins and their options by name, as a config and `createGateway` want them. */
export function toRecords(entries: readonly PluginEntry[]): {
  plugins: Record<string, AnyPlugin>;
  options: Record<string, Record<string, unknown>>;
} {
  const pairs = entries.map((entry) => (isPair(entry) ? entry : ([entry, {}] as const)));
  return {
    plugins: Object.fromEntries(pairs.map(([plugin]) => [plugin.name, plugin])),
    options: Object.fromEntries(pairs.map(([plugin, options]) => [plugin.name, options])),
  };
}

function isPair(entry: PluginEntry): entry is readonly [AnyPlugin, Record<string, unknown>] {
  return Array.isArray(entry);
}

/** Stands in for a client nobody asked for, and says so when it is used. */
function absentClient(): Client {
  return new Proxy({} as Client, {
    get() {
      throw new Error(
        "setupGateway connected no client: `client` was false, or the config has no endpoint.",
      );
    },
  });
}
