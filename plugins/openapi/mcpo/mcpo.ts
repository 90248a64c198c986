import { readFile } from "node:fs/promises";
import { GatewayError } from "propylon";
import { isObject } from "propylon/kit";
import { parseVariables } from "propylon/internal";
import { start, transportOf } from "propylon/cli";
import { forwardingOf } from "./headers.ts";

/** Flags as mcpo has them. */
export interface McpoFlags {
  readonly config?: string;
  readonly port: number;
  readonly host?: string;
  readonly apiKey?: string;
  readonly hotReload?: boolean;
  readonly name?: string;
  readonly description?: string;
  readonly env?: readonly string[];
  readonly envPath?: string;
  readonly serverType: string;
  readonly type?: string;
  readonly header?: string;
  readonly corsAllowOrigins?: readonly string[];
  readonly sslCertfile?: string;
  readonly sslKeyfile?: string;
  readonly logLevel?: string;
  readonly plugin?: readonly string[];
  readonly readOnly?: boolean;
  readonly rootPath?: string;
  readonly pathPrefix?: string;
  readonly clientHeaderForwarding?: string;
  readonly allowedHost?: readonly string[];
  readonly allowMutations?: boolean;
  readonly toolTimeout?: string;
  readonly toolTimeoutMax?: string;
}

type Value = Record<string, unknown>;

/** mcpo's words for the severity of a log line. */
const LEVELS: Readonly<Record<string, string>> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warn",
  ERROR: "error",
  CRITICAL: "fatal",
};

/**
 * Runs a gateway the way mcpo is run: a pasted `mcpServers` file, or one server behind `--`, with every tool over HTTP.
 *
 * @throws {GatewayError} `invalid` for a flag that has no counterpart or is wrong; else as `start`
 */
export async function mcpo(
  flags: McpoFlags,
  command: readonly string[] | undefined,
): Promise<void> {
  const { config, port, apiKey, hotReload } = flags;
  if (config === undefined && command === undefined)
    throw wrong("There is nothing to serve.", "Add --config mcp.json, or -- npx some-server.");
  checkHeader(flags);
  const environment = await readEnvironment(flags);
  await start({
    file: config,
    command: config === undefined ? command : undefined,
    port,
    // mcpo is open to the network without a key; nothing here is.
    host: flags.host ?? (apiKey === undefined ? "127.0.0.1" : "0.0.0.0"),
    ...(flags.plugin && { plugin: withNeeds(flags.plugin) }),
    ...pick(flags, ["allowedHost", "allowMutations", "toolTimeout", "toolTimeoutMax"]),
    watch: hotReload ?? false,
    readOnly: flags.readOnly ?? false,
    ...(apiKey !== undefined && { apiKey }),
    ...(flags.logLevel !== undefined && { logLevel: levelOf(flags.logLevel) }),
    amend: (value) => amend(value, flags, environment),
  });
}

/** Headers are for the one URL behind `--`; to leave them out silently would leave out a credential. */
function checkHeader({ header, config, type, serverType }: McpoFlags): void {
  if (header === undefined) return;
  if (config !== undefined)
    throw wrong(
      "--header is for a URL behind --, not for the servers of a file.",
      "Set headers of each server in the file.",
    );
  if ((type ?? serverType) === "stdio")
    throw wrong(
      "--header is for a URL behind --, and a command takes no headers.",
      "Add --server-type streamable-http or sse, or leave the flag out.",
    );
}

/** A plugin that was asked for by its name alone brings those that it cannot do without. */
function withNeeds(plugins: readonly string[]): string[] {
  return [...new Set(plugins.flatMap((name) => (name === "admin" ? ["gating", name] : [name])))];
}

function pick<K extends keyof McpoFlags>(flags: McpoFlags, keys: readonly K[]): Pick<McpoFlags, K> {
  const given = keys.filter((key) => flags[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, flags[key]])) as Pick<McpoFlags, K>;
}

function levelOf(name: string): string {
  const level = LEVELS[name.toUpperCase()];
  if (level === undefined)
    throw wrong("The log level is not known.", `Levels: ${Object.keys(LEVELS).join(", ")}.`);
  return level;
}

/** Variables for the servers: those of the file, and above them those of `--env`. */
async function readEnvironment({ env = [], envPath }: McpoFlags): Promise<Record<string, string>> {
  const text =
    envPath === undefined
      ? ""
      : await readFile(envPath, "utf8").catch((cause: unknown) => {
          throw new GatewayError("io_error", "The file of --env-path cannot be read.", {
            cause,
            hint: "Check its path and permissions.",
          });
        });
  const pairs = env.map((pair) => {
    const equals = pair.indexOf("=");
    if (equals < 1) throw wrong("--env wants NAME=value.", "E.g. --env TZ=Europe/Vienna.");
    return [pair.slice(0, equals), pair.slice(equals + 1)] as const;
  });
  return { ...(parseVariables(text) as Record<string, string>), ...Object.fromEntries(pairs) };
}

function amend(value: Value, flags: McpoFlags, environment: Record<string, string>): Value {
  const { name, description } = flags;
  const listener = listenerOf(flags, needsKey(value["auth"], flags));
  const plugins = isObject(value["plugins"]) ? value["plugins"] : {};
  return {
    ...value,
    plugins: {
      ...plugins,
      openapi: { ...openapiOf(value, flags), ...(plugins["openapi"] as Value | null) },
    },
    ...(name !== undefined && { name }),
    ...(description !== undefined && { endpoints: { mcp: { instructions: description } } }),
    ...(Object.keys(listener).length > 0 && {
      listeners: withListener(value["listeners"], listener),
    }),
    ...amendServers(value, "mcpServers", (entry) => amendPasted(entry, environment)),
    ...(flags.config === undefined &&
      amendServers(value, "servers", (entry) => amendCommand(entry, flags, environment))),
  };
}

/** What the flags say beats what the file says of its first listener. */
function withListener(written: unknown, listener: Value): Value {
  const listeners = isObject(written) ? written : {};
  const [name = "main"] = Object.keys(listeners);
  const first = listeners[name];
  return { ...listeners, [name]: { ...(isObject(first) ? first : {}), ...listener } };
}

/** Whether nothing but what is public is answered without the key. */
function needsKey(auth: unknown, { apiKey }: McpoFlags): boolean {
  const written = isObject(auth) ? auth : {};
  return (apiKey !== undefined || "apiKey" in written) && written["strict"] !== false;
}

function listenerOf(flags: McpoFlags, hasKey: boolean): Value {
  const { corsAllowOrigins, sslCertfile: cert, sslKeyfile: key, rootPath, pathPrefix } = flags;
  const basePaths = [rootPath, pathPrefix].flatMap((path) => trimmed(path ?? ""));
  return {
    ...(corsAllowOrigins && { allowedOrigins: corsAllowOrigins }),
    ...((cert !== undefined || key !== undefined) && { tls: { cert, key } }),
    ...(basePaths.length > 0 && { basePaths }),
    // A page that points its own name here has no key, and browsers add none: nothing here takes cookies.
    ...(hasKey && { allowedHosts: ["*"] }),
  };
}

/** mcpo takes a path with and without slashes around it. */
function trimmed(path: string): string[] {
  const inner = path.split("/").filter((part) => part !== "");
  return inner.length === 0 ? [] : [`/${inner.join("/")}`];
}

/** mcpo answers with the bare value and takes "1" for 1; a single server is at the root. */
function openapiOf(value: Value, flags: McpoFlags): Value {
  const servers = isObject(value["servers"]) ? Object.keys(value["servers"]) : [];
  const forwardHeaders = forwardingOf(value, flags.clientHeaderForwarding);
  return {
    format: "raw",
    coerce: true,
    ...(flags.config === undefined && { root: servers[0] }),
    ...(Object.keys(forwardHeaders).length > 0 && { forwardHeaders }),
  };
}

function amendServers(value: Value, key: string, change: (entry: Value) => Value): Value {
  const servers = value[key];
  if (!isObject(servers)) return {};
  const changed = Object.entries(servers).map(([name, entry]) => [
    name,
    isObject(entry) ? change(entry) : entry,
  ]);
  return { [key]: Object.fromEntries(changed) as Value };
}

/** To mcpo a URL without a type is one of the old transport. */
function amendPasted(written: Value, environment: Record<string, string>): Value {
  const { client_header_forwarding: _, ...entry } = written;
  if (typeof entry["command"] === "string") return withEnvironment(entry, environment);
  const isUntyped = entry["type"] === undefined && entry["transport"] === undefined;
  return entry["url"] !== undefined && isUntyped ? { ...entry, type: "sse" } : entry;
}

/** Behind `--` stands a URL when `--server-type` says so. */
function amendCommand(entry: Value, flags: McpoFlags, environment: Record<string, string>): Value {
  const type = flags.type ?? flags.serverType;
  if (type === "stdio") return withEnvironment(entry, environment);
  const transport = transportOf(type);
  if (transport === undefined || transport === "stdio")
    throw wrong("The server type is not known.", "Types: stdio, sse, streamable-http.");
  return { transport, url: entry["command"], headers: readHeaders(flags.header) };
}

function withEnvironment(entry: Value, environment: Record<string, string>): Value {
  if (Object.keys(environment).length === 0) return entry;
  return { ...entry, env: { ...environment, ...(entry["env"] as Value | undefined) } };
}

function readHeaders(text: string | undefined): Value {
  if (text === undefined) return {};
  let headers: unknown;
  try {
    headers = JSON.parse(text);
  } catch {
    headers = undefined;
  }
  if (isObject(headers)) return headers;
  throw wrong("--header wants a JSON object.", `E.g. --header '{"Authorization": "Bearer ..."}'.`);
}

function wrong(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", message, { hint });
}
