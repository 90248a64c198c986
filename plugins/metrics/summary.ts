import type { Sources } from "./catalogue.ts";
import type { Distribution } from "./distribution.ts";

/** The figures as JSON, under the names of the specification. */
export function summarise({ counts, life, switches, gateway }: Sources): object {
  return {
    servers_enabled: switches.servers(),
    tools_enabled: switches.tools(),
    tool_calls_total: counts.durations.count,
    tool_errors_total: Object.fromEntries(counts.errors),
    tool_call_duration_seconds: {
      ...totalsOf(counts.durations),
      buckets: Object.fromEntries(counts.durations.buckets()),
    },
    tool_calls_in_flight: counts.inFlight,
    upstream_state: Object.fromEntries(
      [...gateway.info.servers].map(([server, { status }]) => [server, status.state]),
    ),
    upstream_reconnects_total: Object.fromEntries(life.reconnects),
    breaker_state: Object.fromEntries(life.circuits),
    sessions_open: Object.fromEntries(life.sessions()),
    config_reloads_total: { ...life.reloads },
    config_generation: gateway.info.generation,
    tools: [...counts.tools()].map(({ labels, calls, durations }) => ({
      ...labels,
      calls: { ...calls },
      duration_seconds: totalsOf(durations),
    })),
  };
}

function totalsOf({ count, sum }: Distribution): { count: number; sum: number } {
  return { count, sum };
}
