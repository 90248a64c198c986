import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { transportOf } from "../config/clients.ts";
import { isPlainObject } from "../config/environment.ts";
import { GatewayError } from "../errors.ts";
import { start } from "./start.ts";

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

/** What mcpo can and Propylon does not do, and what to do instead. */
const ABSENT = {
  rootPath: ["--root-path", "Let the reverse proxy in front strip the path."],
  pathPrefix: ["--path-prefix", "Let a reverse proxy in front strip the prefix."],
  clientHeaderForwarding: [
    "--client-header-forwarding",
    "Headers of clients never reach servers; set headers of the server in the config.",
  ],
} as const;

/**
 * Runs a gateway the way mcpo is run: a pasted `mcpServers` file, or one server behind `--`, with every tool over HTTP.
 *
 * @throws {GatewayError} `invalid` for a flag that has no counterpart or is wrong; else as `start`
 */
export async function mcpo(
  flags: McpoFlags,
  command: readonly string[] | undefined,
): Promise<void> {
  checkAbsent(flags);
  const { config, port, apiKey, hotReload } = flags;
  if (config === undefined && command === undefined)
    throw wrong("There is nothing to serve.", "Add --config mcp.json, or -- npx some-server.");
  const environment = await readEnvironment(flags);
  await start({
    file: config,
    command: config === undefined ? command : undefined,
    port,
    // mcpo is open to the network without a key; nothing here is.
    host: flags.host ?? (apiKey === undefined ? "127.0.0.1" : "0.0.0.0"),
    ...(flags.plugin && { plugin: flags.plugin }),
    watch: hotReload ?? false,
    readOnly: flags.readOnly ?? false,
    ...(apiKey !== undefined && { apiKey }),
    ...(flags.logLevel !== undefined && { logLevel: levelOf(flags.logLevel) }),
    amend: (value) => amend(value, flags, environment),
  });
}

function checkAbsent(flags: McpoFlags): void {
  for (const [key, [flag, hint]] of Object.entries(ABSENT))
    if (flags[key as keyof typeof ABSENT] !== undefined)
      throw wrong(`The flag ${flag} of mcpo has no counterpart.`, hint);
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
  return { ...(parseEnv(text) as Record<string, string>), ...Object.fromEntries(pairs) };
}

function amend(value: Value, flags: McpoFlags, environment: Record<string, string>): Value {
  const { name, description, corsAllowOrigins, sslCertfile: cert, sslKeyfile: key } = flags;
  const main = {
    ...(corsAllowOrigins && { allowedOrigins: corsAllowOrigins }),
    ...((cert !== undefined || key !== undefined) && { tls: { cert, key } }),
  };
  const plugins = isPlainObject(value["plugins"]) ? value["plugins"] : {};
  return {
    ...value,
    // What mcpo answers is the bare value.
    plugins: { ...plugins, openapi: { format: "raw", ...(plugins["openapi"] as Value | null) } },
    ...(name !== undefined && { name }),
    ...(description !== undefined && { endpoints: { mcp: { instructions: description } } }),
    ...(Object.keys(main).length > 0 && { listeners: { main } }),
    ...amendServers(value, "mcpServers", (entry) => amendPasted(entry, environment)),
    ...(flags.config === undefined &&
      amendServers(value, "servers", (entry) => amendCommand(entry, flags, environment))),
  };
}

function amendServers(value: Value, key: string, change: (entry: Value) => Value): Value {
  const servers = value[key];
  if (!isPlainObject(servers)) return {};
  const changed = Object.entries(servers).map(([name, entry]) => [
    name,
    isPlainObject(entry) ? change(entry) : entry,
  ]);
  return { [key]: Object.fromEntries(changed) as Value };
}

/** To mcpo a URL without a type is one of the old transport. */
function amendPasted(entry: Value, environment: Record<string, string>): Value {
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
  if (isPlainObject(headers)) return headers;
  throw wrong("--header wants a JSON object.", `E.g. --header '{"Authorization": "Bearer ..."}'.`);
}

function wrong(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", message, { hint });
}
