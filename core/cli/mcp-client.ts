import { existsSync } from "node:fs";
import { pino } from "pino";
import type { Answer } from "../call/answer.ts";
import type { CallInput } from "../call/call.ts";
import { findConfig, loadConfig } from "../loading/load.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { parseDuration } from "../kit/units.ts";
import { timeoutSignal } from "../kit/timers.ts";
import { GatewayError, toGatewayError } from "../kit/errors.ts";
import { createGateway } from "../gateway/create.ts";
import { listenerUrl } from "../http/allowed-hosts.ts";
import type { Catalogue, Server } from "../call/server.ts";
import { VERSION } from "../kit/version.ts";
import { withContainer } from "../loading/container.ts";

/** Flags that `tools` and `call` share. */
export interface ClientFlags {
  /** URL of an MCP endpoint, or a config whose first endpoint is meant. Default: the config of this folder. */
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

/** A gateway that is called from the command line. */
export interface GatewayClient {
  /** What its endpoint offers. */
  readonly catalogue: Catalogue;
  call(input: Omit<CallInput, "server" | "signal">): Promise<Answer>;
}

/** How the gateway is called in {@link withClient}: the command line is a gateway itself, with that one as its server. */
const SERVER = "gateway";

/** Finds the gateway that a person means: a URL, a config, or the config of this folder. */
export async function findTarget({ target, apiKey }: ClientFlags): Promise<GatewayAddress> {
  if (target !== undefined && /^https?:\/\//i.test(target)) return { url: urlOf(target), apiKey };
  if (target !== undefined && isAddress(target))
    throw new GatewayError("invalid", `${target} is neither a URL nor a config.`, {
      hint: `Write http://${target} for a gateway there.`,
    });
  const { config } = await loadConfig(target ?? findConfig(process.cwd()), {
    adjust: withContainer,
  });
  return { url: endpointUrl(config.values), apiKey: apiKey ?? config.values.auth.apiKey };
}

/** @throws {GatewayError} `invalid` */
export function parseTarget(target: string): URL {
  if (URL.canParse(target)) return new URL(target);
  throw new GatewayError("invalid", `${target} is not a URL.`, {
    hint: "Write e.g. http://127.0.0.1:8080/mcp.",
  });
}

/** `localhost:8080`, `[::1]:8080/mcp`: where a gateway is, but for the scheme. */
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
export function endpointUrl(config: GatewayConfig): string {
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

/** The wait that `--timeout` asks for, in milliseconds. */
export function timeoutOf({ timeout = "60s" }: ClientFlags): number {
  const ms = parseDuration(timeout, "s");
  if (ms === undefined || ms <= 0)
    throw new GatewayError("invalid", `--timeout ${timeout} is not a duration.`, {
      hint: "Write e.g. 30s, 1500ms or 2m.",
    });
  return ms;
}

/**
 * Connects to a gateway as any MCP client does, hands the connection over, and ends it.
 *
 * @throws {GatewayError} `unauthorized` when it refuses the key, `upstream_error` when it cannot be reached, `timeout` when it
 *   does not answer in time
 */
export async function withClient<T>(
  flags: ClientFlags,
  use: (client: GatewayClient) => Promise<T>,
): Promise<T> {
  const { url, apiKey } = await findTarget(flags);
  const timeout = timeoutOf(flags);
  const headers = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
  // The wait below ends first, with words for both.
  const longer = `${timeout + 1_000}ms`;
  const gateway = await createGateway(
    {
      name: "propylon-cli",
      version: VERSION,
      servers: { [SERVER]: { url, headers, connectTimeout: longer, timeout: longer } },
    },
    { log: pino({ enabled: false }) },
  );
  const server = gateway.servers.get(SERVER)!;
  const signal = timeoutSignal(timeout);
  try {
    await connected(server, url, apiKey, signal);
    return await use({
      catalogue: server.catalogue,
      call: (input) => gateway.call({ ...input, server: SERVER, signal }),
    });
  } catch (error) {
    const isLate = signal.aborted && toGatewayError(error).code === "cancelled";
    if (!isLate) throw error;
    throw new GatewayError("timeout", `There was no answer within ${timeout / 1_000} s.`, {
      hint: "Wait longer with --timeout, e.g. --timeout 5m.",
    });
  } finally {
    await gateway.close({ grace: 0 });
  }
}

async function connected(
  server: Server,
  url: string,
  apiKey: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = (): void => {
      const { state } = server.status;
      if (state !== "idle" && state !== "connecting") resolve();
    };
    server.on(({ type }) => type === "state" && look());
    signal.addEventListener("abort", () => resolve());
    look();
  });
  const { state, reason, lastError } = server.status;
  if (state === "ready" || state === "degraded") return;
  if (state === "connecting") throw new GatewayError("cancelled", "The gateway is slow to answer.");
  const why = (reason ?? lastError ?? "it did not answer in time")
    .replace(/^Server "gateway" (?:cannot be used: )?/, "")
    .replace(/\.$/, "");
  if (/\b401\b/.test(why))
    throw new GatewayError(
      "unauthorized",
      `The gateway at ${url} ${apiKey === undefined ? "wants a key" : "does not know this key"}.`,
      { hint: "Give its key with --api-key or PROPYLON_API_KEY." },
    );
  if (/\b403\b|unauthorized|forbidden/i.test(`${reason} ${lastError}`)) {
    throw new GatewayError(
      "unauthorized",
      `The gateway at ${url} refused the credentials: ${why}.`,
      { hint: "Give its key with --api-key or PROPYLON_API_KEY." },
    );
  }
  if (/\b404\b/.test(why)) {
    throw new GatewayError("upstream_error", `There is no MCP endpoint at ${url} (HTTP 404).`, {
      hint: "Check the path of the URL; the gateway prints its endpoints when it starts.",
    });
  }
  throw new GatewayError("upstream_error", `The gateway at ${url} cannot be reached: ${why}.`, {
    hint: "Start it with propylon start, or check the URL.",
  });
}
