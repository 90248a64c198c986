import { type GatewayError, isGatewayError, toGatewayError } from "propylon";
import type { ProbeReport, ProbeRung } from "propylon/kit";
import { amendError, lowerCaseNames } from "propylon/internal";
import { baseOf } from "./card.ts";
import type { CardReader } from "./cards.ts";
import type { AgentHttp } from "./http.ts";
import type { RemoteAgentOptions, AgentDialect } from "../options.ts";

/** What a probe works with. */
export interface ProbeInput {
  readonly options: RemoteAgentOptions;
  /** As far as it is known. */
  readonly dialect: AgentDialect | undefined;
  readonly http: AgentHttp;
  readonly cards: CardReader;
  readonly signal: AbortSignal;
}

/**
 * Asks an agent whether it is there: a runtime of contract v1 for its health, any other for its card.
 * @throws {GatewayError} whose `data.failed` tells how far it came
 */
export async function probeAgent(input: ProbeInput): Promise<ProbeReport> {
  const begun = performance.now();
  try {
    if (input.dialect === "contract-v1") await askHealth(input);
    else await input.cards.read(input.signal);
    return { latency: performance.now() - begun };
  } catch (thrown) {
    throw toRung(thrown);
  }
}

async function askHealth({ options, http, signal }: ProbeInput): Promise<void> {
  const reply = await http.send(new URL("health", baseOf(options)), {
    method: "GET",
    headers: { ...lowerCaseNames(options.headers), accept: "application/json" },
    signal,
  });
  reply.drop();
  if (reply.status !== 200) throw http.errors.status(reply.status);
}

function toRung(thrown: unknown): GatewayError {
  const error = toGatewayError(thrown);
  return amendError(error, { data: { failed: rungOf(error) } });
}

function rungOf({ data, code, cause }: GatewayError): ProbeRung {
  const status = data?.["status"];
  if (status === 401 || status === 403) return "auth";
  if (typeof status === "number") return status >= 300 && status < 400 ? "transport" : "handshake";
  if (code === "invalid") return "list";
  const isNetwork = code !== "upstream_error" || (cause instanceof Error && !isGatewayError(cause));
  return isNetwork ? "transport" : "handshake";
}
