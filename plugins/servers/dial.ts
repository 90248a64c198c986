import type { Logger } from "pino";
import { resolve } from "node:path";
import type { SecureContext } from "node:tls";
import { type Era, GatewayError, toGatewayError } from "propylon";
import {
  type HttpServerConfig,
  type RingBuffer,
  Semaphore,
  setTimer,
  type StdioServerConfig,
} from "propylon/kit";
import { Connection, type ConnectionHost } from "./connection.ts";
import type { Dropped } from "./dropped.ts";
import type { ClientInfo } from "./envelope.ts";
import { negotiate } from "./era.ts";
import { HttpWire } from "./http.ts";
import type { Credentials } from "./personal.ts";
import { readSecureContext } from "./tls-files.ts";
import { StdioWire } from "./stdio-wire.ts";
import { SseWire } from "./sse-legacy.ts";
import type { Wire, WireReceiver } from "./wire.ts";

/** Children that may be starting at once, of all servers of the process: fifty at once starve each other and the gateway. */
const spawns = new Semaphore(4);
/** How long a child that does not finish its handshake may keep others from starting, in milliseconds. */
const TURN_MS = 5_000;
/** How long a child is waited for that may not know `server/discover`: some say nothing to that. */
const CHILD_PATIENCE_MS = 3_000;

/** An entry of `servers` whose server speaks MCP itself. */
export type UpstreamConfig = StdioServerConfig | HttpServerConfig;

/** What is needed to reach a server. */
export interface DialOptions {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly clientInfo: ClientInfo;
  /** Directory that a relative `cwd` starts from. */
  readonly cwd: string;
  readonly log: Logger;
  readonly host: ConnectionHost;
  readonly dropped: Dropped;
  readonly maxDepth: number;
  /** Era the server spoke last time. */
  readonly remembered: Era | undefined;
  /** Keeps what a child writes to stderr, of one after the other. */
  readonly stderr?: RingBuffer | undefined;
  /** Kills a child, whatever it does, when it aborts. */
  readonly kill?: AbortSignal | undefined;
  /** How long it may take, in milliseconds. */
  readonly limit: number;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** Whose requests the connection carries; default: the headers of the config, and no login. */
  readonly credentials?: Credentials | undefined;
}

/**
 * Opens a connection and agrees on an era, within its time; a child's begins when it is its turn to start.
 * Leaves nothing behind when it fails.
 * @throws {GatewayError} `upstream_error`, `timeout` or `cancelled`
 */
export async function dial(options: DialOptions): Promise<Connection> {
  if (!("command" in options.config)) return dialNow(options);
  const end = await spawns.take(options.signal);
  const timer = setTimeout(end, TURN_MS);
  try {
    return await dialNow(options);
  } finally {
    clearTimeout(timer);
    end();
  }
}

async function dialNow(options: DialOptions): Promise<Connection> {
  const { name, signal } = options;
  const limit = new AbortController();
  const seconds = options.limit / 1000;
  const expire = (): void =>
    limit.abort(
      new GatewayError(
        "timeout",
        `Server "${name}" did not finish the handshake within ${seconds} s.`,
        { hint: `A longer time is servers.${name}.connectTimeout.` },
      ),
    );
  const timer = setTimer(expire, options.limit);
  const forward = (): void => limit.abort(signal.reason);
  signal.addEventListener("abort", forward, { once: true });
  try {
    return await shake(options, limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", forward);
  }
}

async function shake(options: DialOptions, signal: AbortSignal): Promise<Connection> {
  const { config, clientInfo, limit } = options;
  const { protocol } = config;
  // Over HTTP a legacy server refuses. One that is silent there is slow, and would be taken for what it is not.
  let patience = "command" in config ? CHILD_PATIENCE_MS : limit / 2;
  let { remembered } = options;
  for (;;) {
    const connection = new Connection(options);
    try {
      connection.attach(await openWire(options, connection.receiver, signal));
      await negotiate(connection, { protocol, remembered, clientInfo, patience, signal });
      return connection;
    } catch (thrown) {
      const error = toGatewayError(thrown);
      await connection.close(error);
      if (protocol !== "auto" || signal.aborted) throw error;
      // Some children exit on a first message they do not know. The next one is not asked for the modern era.
      if ("command" in config && remembered === undefined && "exitCode" in (error.data ?? {}))
        remembered = "legacy";
      else if (error.data?.["modern"] === true && patience !== limit) patience = limit;
      else throw error;
    }
  }
}

async function openWire(
  options: DialOptions,
  receiver: WireReceiver,
  signal: AbortSignal,
): Promise<Wire> {
  const { name, config, cwd, log, clientInfo, stderr } = options;
  if ("command" in config) {
    return StdioWire.open({
      name,
      config,
      cwd: config.cwd === undefined ? cwd : resolve(cwd, config.cwd),
      log,
      receiver,
      stderr,
      kill: options.kill,
    });
  }
  const common = {
    name,
    config,
    userAgent: `${clientInfo.name}/${clientInfo.version}`,
    log,
    receiver,
    credentials: options.credentials,
    secureContext: secureContextOf(name, config, cwd),
  };
  return config.transport === "sse" ? SseWire.open(common, signal) : new HttpWire(common);
}

/** Callers may hear of it: which file it is, the config said when it was read. */
function secureContextOf(
  name: string,
  config: HttpServerConfig,
  cwd: string,
): SecureContext | undefined {
  try {
    return readSecureContext(name, config, cwd);
  } catch (cause) {
    throw new GatewayError(
      "upstream_error",
      `The certificates of server "${name}" cannot be read.`,
      {
        cause,
        data: { server: name },
      },
    );
  }
}
