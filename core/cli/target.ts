import { existsSync } from "node:fs";
import { CONFIG_NAMES } from "../file/file-names.ts";
import type { Config } from "../config/config.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { listenerUrl } from "../kit/addresses.ts";
import { GatewayError } from "../kit/errors.ts";
import { parseDuration } from "../kit/units.ts";
import { clientName, keyVariable } from "./client-hint.ts";

/** Flags of commands that ask a running gateway. */
export interface ClientFlags {
  /** URL of an MCP endpoint, or a config, which stands for its first endpoint. Default: the config of this folder. */
  readonly target?: string | undefined;
  readonly apiKey?: string;
  readonly timeout?: string;
  readonly json?: boolean;
}

/** Where a gateway answers, and the key it wants. */
export interface GatewayAddress {
  readonly url: string;
  readonly apiKey: string | undefined;
}

/** What somebody who sets a client up has to know about a gateway. */
export interface DescribedTarget {
  /** As {@link clientName} makes it. */
  readonly name: string;
  /** As clients reach it. */
  readonly url: string;
  readonly hasKey: boolean;
  /** Keys of `plugins` that are on. */
  readonly plugins: readonly string[];
  /** Where a client takes the key from. */
  readonly variable: string;
}

/** Finds the gateway that a person means: a URL, a config, or the config of this folder. */
export async function findTarget({ target, apiKey }: ClientFlags): Promise<GatewayAddress> {
  if (target !== undefined && /^https?:\/\//i.test(target)) return { url: urlOf(target), apiKey };
  if (target !== undefined && isAddress(target))
    throw new GatewayError("invalid", `${target} is neither a URL nor a config.`, {
      hint: `Write http://${target} for a gateway there.`,
    });
  const { values } = await configOf(target);
  return { url: endpointUrl(values), apiKey: apiKey ?? values.auth.apiKey };
}

/**
 * Describes the gateway that a person means: a URL, a config, the config of this folder, or what runs without one. Asks no gateway.
 *
 * @throws {GatewayError} `invalid` for an invalid URL, and for a config that cannot be used or has no endpoint
 */
export async function describeTarget(target: string | undefined): Promise<DescribedTarget> {
  const unknown = { name: "propylon", hasKey: false, plugins: [], variable: keyVariable() };
  if (target !== undefined && /^https?:/i.test(target)) {
    parseTarget(target);
    return { ...unknown, url: target };
  }
  const file = target ?? CONFIG_NAMES.find((name) => existsSync(name));
  // Without a config the defaults are what runs, e.g. for propylon -- npx some-server.
  if (file === undefined) return { ...unknown, url: "http://127.0.0.1:8080/mcp" };
  const config = await configOf(file);
  const { hasCredentials } = await import("../config/defaults.ts");
  const { name, publicUrl, endpoints, auth, plugins } = config.values;
  return {
    name: clientName(name),
    url:
      publicUrl === undefined ? endpointUrl(config.values) : publicEndpoint(publicUrl, endpoints),
    hasKey: hasCredentials(auth),
    plugins: Object.keys(plugins).filter((plugin) => (plugins[plugin] ?? false) !== false),
    variable: keyVariable(config),
  };
}

/** Only now: a URL needs nothing of what reads a config. */
async function configOf(file: string | undefined): Promise<Config> {
  const { loadHere } = await import("./source.ts");
  return (await loadHere(file)).config;
}

/** @throws {GatewayError} `invalid` */
function parseTarget(target: string): URL {
  if (URL.canParse(target)) return new URL(target);
  throw new GatewayError("invalid", `${target} is not a URL.`, {
    hint: "Write e.g. http://127.0.0.1:8080/mcp.",
  });
}

/** `localhost:8080`, `[::1]:8080/mcp`: where a gateway is, without the scheme. */
function isAddress(target: string): boolean {
  return /^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}(?:\/.*)?$/i.test(target) && !existsSync(target);
}

/** A bare origin means the default endpoint of it. */
function urlOf(target: string): string {
  const url = parseTarget(target);
  if (url.pathname === "/") url.pathname = "/mcp";
  return url.href;
}

/** URL of the first endpoint of a config, as reached from this machine. */
function endpointUrl(config: GatewayConfig): string {
  const [endpoint] = Object.values(config.endpoints);
  if (!endpoint)
    throw new GatewayError("invalid", "The config has no MCP endpoint.", {
      hint: "Give a URL instead.",
    });
  const [first] = Object.keys(config.listeners);
  const listener = config.listeners[endpoint.listener ?? first!]!;
  if (listener.port === 0)
    throw new GatewayError("invalid", "The config lets the system choose the port.", {
      hint: "Give the URL that the gateway printed when it started.",
    });
  return `${listenerUrl(listener)}${endpoint.path}`;
}

function publicEndpoint(publicUrl: string, endpoints: GatewayConfig["endpoints"]): string {
  const [first] = Object.values(endpoints);
  return `${publicUrl.replace(/\/+$/, "")}${first?.path ?? "/mcp"}`;
}

/** The wait that `--timeout` asks for, in milliseconds. */
export function timeoutOf({ timeout = "60s" }: ClientFlags): number {
  const ms = parseDuration(timeout, "s");
  if (ms === undefined || ms <= 0)
    throw new GatewayError("invalid", `--timeout ${timeout} is not a duration.`, {
      hint: "Write e.g. 30s, 1500ms or 2m.",
    });
  return ms;
}
