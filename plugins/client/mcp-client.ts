import { pino } from "pino";
import {
  type Answer,
  type CallInput,
  type Catalogue,
  createGateway,
  GatewayError,
  type Server,
  toGatewayError,
} from "propylon";
import { type ClientFlags, findTarget, timeoutOf } from "propylon/cli";
import { timeoutSignal, VERSION } from "propylon/kit";

/** A gateway that is called from the command line. */
export interface GatewayClient {
  /** What its endpoint offers. */
  readonly catalogue: Catalogue;
  call(input: Omit<CallInput, "server" | "signal">): Promise<Answer>;
}

/** How the gateway is called in {@link withClient}: the command line is a gateway itself, with that one as its server. */
const SERVER = "gateway";

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
