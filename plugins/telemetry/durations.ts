import { metrics, type Attributes, type Histogram } from "@opentelemetry/api";
import type { PluginContext } from "propylon";
import { KeyedSeries, type HistogramInput } from "./histogram.ts";
import type { Pipeline } from "./pipeline.ts";
import { SCOPE } from "./span.ts";
import { CallSeries } from "./timing.ts";

/** Buckets of the MCP conventions, in seconds. */
const SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The histograms of the MCP conventions. */
export interface Durations {
  /** Requests of clients and calls inside the process. */
  readonly served: CallSeries;
  /** Requests to servers. */
  readonly relayed: CallSeries;
  readonly serverSession: Histogram;
  readonly clientSession: Histogram;
}

/** Makes the histograms; of the registered SDK where the gateway exports no metrics itself. */
export function createDurations(pipeline: Pipeline | undefined): Durations {
  const meter = (pipeline?.meters ?? metrics.getMeterProvider()).getMeter(SCOPE);
  const histogram = ({ name, description, bounds }: HistogramInput): Histogram =>
    meter.createHistogram(name, {
      unit: "s",
      description,
      advice: { explicitBucketBoundaries: [...bounds] },
    });
  const keyed = (input: HistogramInput): KeyedSeries => {
    if (pipeline?.histograms) return pipeline.histograms.of(input);
    const theirs = histogram(input);
    return new KeyedSeries((attributes) => ({
      record: (seconds) => theirs.record(seconds, attributes),
    }));
  };
  const series = (input: HistogramInput): CallSeries => new CallSeries(keyed(input));
  const input = (name: string, description: string) => ({ name, description, bounds: SECONDS });
  return {
    served: series(input("mcp.server.operation.duration", "Duration of requests to the gateway.")),
    relayed: series(input("mcp.client.operation.duration", "Duration of requests to MCP servers.")),
    serverSession: histogram(
      input("mcp.server.session.duration", "Duration of sessions of clients."),
    ),
    clientSession: histogram(
      input("mcp.client.session.duration", "Duration of connections to servers."),
    ),
  };
}

/** Times sessions of clients, and connections to servers. Their beginnings outlive a reload. */
export function timeSessions(
  gateway: Pick<PluginContext, "hook" | "keep" | "info">,
  durations: () => Durations,
): void {
  const sessions = gateway.keep("sessions", () => new Map<string, number>());
  const connections = gateway.keep("connections", () => new Map<string, number>());
  const end = (starts: Map<string, number>, key: string, tell: (seconds: number) => void): void => {
    const start = starts.get(key);
    if (start !== undefined && starts.delete(key)) tell((performance.now() - start) / 1_000);
  };
  gateway.hook("session:open", (_endpoint, id) => void sessions.set(id, performance.now()));
  gateway.hook("session:close", (endpoint, id, reason) =>
    end(sessions, id, (seconds) =>
      durations().serverSession.record(seconds, {
        "propylon.endpoint": endpoint,
        "propylon.session.end": reason,
      }),
    ),
  );
  gateway.hook("server:state", (server, { state, transport }) => {
    const attributes: Attributes = {
      "propylon.server": server,
      "network.transport": transport === "stdio" ? "pipe" : "tcp",
    };
    if (state === "ready") {
      if (!connections.has(server)) connections.set(server, performance.now());
    } else if (state !== "degraded")
      end(connections, server, (seconds) => durations().clientSession.record(seconds, attributes));
  });
}
