import { toGatewayError, type Answer, type Call, type Next, type PluginContext } from "propylon";
import type { Labelling, Ledger } from "./ledger.ts";
import type { MetricsOptions } from "./options.ts";

/** What OpenTelemetry calls the transports of the gateway's servers. */
const NETWORK_TRANSPORT: Readonly<Record<string, string>> = {
  stdio: "pipe",
  "streamable-http": "tcp",
  sse: "tcp",
};

/** Times every call twice: outside everything, so that denials count, and where it leaves for a server. */
export function measure(
  gateway: Pick<PluginContext<MetricsOptions>, "config" | "servers" | "use">,
  ledger: Ledger,
): void {
  const { maxTools, toolNames } = gateway.config;
  const labelling: Labelling = {
    maxTools,
    toolNames,
    isServer: (name) => gateway.servers.has(name),
    transportOf: (server) => NETWORK_TRANSPORT[gateway.servers.get(server)?.status.transport ?? ""],
  };
  gateway.use("observe", (call, next) => {
    const isTool = call.method === "tools/call";
    if (isTool) ledger.inFlight++;
    return timed(call, next, (end, seconds) => {
      if (isTool) ledger.inFlight--;
      ledger.end(call, end, seconds, labelling);
    });
  });
  gateway.use("progress", (call, next) =>
    timed(call, next, (end, seconds) => ledger.relay(call, end, seconds, labelling)),
  );
}

/** Tells how a call ended and how long it took; the answer itself is passed on as it is. */
function timed(
  call: Call,
  next: Next,
  tell: (end: Answer | Error, seconds: number) => void,
): Promise<Answer> {
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1_000;
  const answer = next(call);
  answer.then(
    (end) => tell(end, seconds()),
    (thrown: unknown) => tell(toGatewayError(thrown), seconds()),
  );
  return answer;
}
