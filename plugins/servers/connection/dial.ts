import type { Logger } from "pino";
import { resolve } from "node:path";
import type { SecureContext } from "node:tls";
import { GatewayError, toGatewayError } from "propylon";
import { Semaphore, setTimer } from "propylon/kit";
import { type Era, abortError } from "propylon/internal";
import type { RingBuffer } from "propylon/process";
import type { HttpServerConfig, StdioServerConfig } from "../entry.ts";
import type { ServersOptions } from "../options.ts";
import { Connection, type ConnectionHost } from "./connection.ts";
import type { Dropped } from "../wire/dropped.ts";
import type { ClientInfo } from "../wire/envelope.ts";
import { negotiate } from "./era.ts";
import { HttpWire } from "../http/http.ts";
import type { Credentials } from "../http/personal.ts";
import { readSecureContext } from "../tls-files.ts";
import { StdioWire } from "../wire/stdio-wire.ts";
import { SseWire } from "../http/sse-legacy.ts";
import type { Wire, WireReceiver } from "../wire/wire.ts";

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
  /** Told what to remember, though the attempt may fail. */
  readonly learned?: (era: Era | undefined) => void;
  /** Keeps what a child writes to stderr, of one after the other. */
  readonly stderr?: RingBuffer | undefined;
  /** Default: our own. */
  readonly httpClient?: ServersOptions["httpClient"] | undefined;
  /** Kills a child, whatever it does, when it aborts. */
  readonly kill?: AbortSignal | undefined;
  /** How long it may take, in milliseconds; a second child has this time again. */
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
  let { remembered } = options;
  for (;;) {
    const end = "command" in options.config ? await takeTurn(options.signal) : undefined;
    try {
      const outcome = await dialOnce({ ...options, remembered });
      if (outcome instanceof Connection) return outcome;
      remembered = outcome;
    } finally {
      end?.();
    }
  }
}

/** @returns ends the turn */
async function takeTurn(signal: AbortSignal): Promise<() => void> {
  const end = await spawns.take(signal);
  const timer = setTimeout(end, TURN_MS);
  return () => {
    clearTimeout(timer);
    end();
  };
}

async function dialOnce(options: DialOptions): Promise<Connection | Era> {
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

/** @returns the era that the next attempt begins with, where this one has spoilt its connection for it */
async function shake(options: DialOptions, signal: AbortSignal): Promise<Connection | Era> {
  const { config, clientInfo, remembered } = options;
  const { protocol } = config;
  const isChild = "command" in config;
  const connection = new Connection(options);
  try {
    connection.attach(await openWire(options, connection.receiver, signal));
    const patience = patienceOf(options);
    const how = { protocol, remembered, clientInfo, patience, isChild, signal };
    if ((await negotiate(connection, how)) === "agreed") return connection;
  } catch (thrown) {
    const error = toGatewayError(thrown);
    await connection.close(error);
    // A server may be an older one by now.
    if (error.code === "timeout" && remembered === "modern") options.learned?.(undefined);
    // Some children exit on a first message they do not know. The next one is not asked for the modern era.
    const died =
      isChild &&
      protocol === "auto" &&
      remembered === undefined &&
      "exitCode" in (error.data ?? {});
    if (!died || options.signal.aborted) throw error;
    return "legacy";
  }
  options.learned?.("modern");
  await connection.close(new GatewayError("cancelled", "It is asked for the modern era again."));
  if (options.signal.aborted) throw abortError(options.signal);
  return "modern";
}

function patienceOf({ config, remembered, limit }: DialOptions): number {
  // Over HTTP a legacy server refuses, so one that is silent is slow.
  if (!("command" in config)) return limit / 2;
  return remembered === "modern" ? limit : CHILD_PATIENCE_MS;
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
    httpClient: options.httpClient,
    secureContext: secureContextOf(name, config, cwd),
  };
  return config.transport === "sse" ? SseWire.open(common, signal) : new HttpWire(common);
}

/** Callers can learn of it: which file it is, the config said when it was read. */
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
