import { toGatewayError, type Answer, type PluginContext } from "propylon";
import type { Labelling, CallCounts } from "./counts.ts";
import type { MetricsOptions } from "./options.ts";

/** What OpenTelemetry calls the transports of the gateway's servers. */
const NETWORK_TRANSPORT: Readonly<Record<string, string>> = {
  stdio: "pipe",
  "streamable-http": "tcp",
  sse: "tcp",
};

/** Times every call twice: outside everything, so that denials count, and where it leaves for a server. */
export function measure(
  gateway: Pick<PluginContext<MetricsOptions>, "config" | "info" | "use">,
  counts: CallCounts,
): void {
  const { maxTools, toolNames } = gateway.config;
  const labelling: Labelling = {
    maxTools,
    toolNames,
    isServer: (name) => gateway.info.servers.has(name),
    transportOf: (server) =>
      NETWORK_TRANSPORT[gateway.info.servers.get(server)?.status.transport ?? ""],
  };
  gateway.use("observe", (call, next) => {
    const started = performance.now();
    const isTool = call.method === "tools/call";
    if (isTool) counts.inFlight++;
    const tell = (end: Answer | Error): void => {
      if (isTool) counts.inFlight--;
      counts.end(call, end, since(started), labelling);
    };
    return watched(next(call), tell);
  });
  gateway.use("dispatch", (call, next) => {
    const started = performance.now();
    return watched(next(call), (end) => counts.relay(call, end, since(started), labelling));
  });
}

/** Seconds from an instant to now. */
function since(started: number): number {
  return (performance.now() - started) / 1_000;
}

/** Tells how a call ended; the answer itself is passed on as it is. */
function watched(answer: Promise<Answer>, tell: (end: Answer | Error) => void): Promise<Answer> {
  answer.then(tell, (thrown: unknown) => tell(toGatewayError(thrown)));
  return answer;
}
