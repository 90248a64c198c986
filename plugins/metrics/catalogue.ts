import type { PluginContext } from "propylon";
import { VERSION } from "propylon/kit";
import type { TableCounts, TaskService } from "propylon/plugins/tasks";
import type { Exposition, Sample } from "./exposition.ts";
import type { CallCounts } from "./counts.ts";
import type { GatewayLife } from "./life.ts";
import type { Switches } from "./switches.ts";

/** Where the figures come from. */
export interface Sources {
  readonly counts: CallCounts;
  readonly life: GatewayLife;
  readonly switches: Switches;
  readonly gateway: Pick<PluginContext, "info">;
}

const WORKER_STATES = ["starting", "ready", "ended"] as const;
const STATES = ["idle", "connecting", "ready", "degraded", "backoff", "failed", "closed"] as const;

/** Figures about tool calls, under the names of the specification. */
export function exposeCalls(page: Exposition, { counts, switches }: Sources): void {
  page.counter(
    "tool_calls_total",
    "Tool calls, refused ones included.",
    ["server", "tool", "outcome"],
    function* () {
      for (const { labels, calls } of counts.tools())
        for (const [outcome, count] of Object.entries(calls))
          if (count > 0) yield [{ ...labels, outcome }, count];
    },
  );
  page.counter("tool_errors_total", "Failed tool calls by error code.", ["code"], () =>
    labelled("code", counts.errors),
  );
  page.gauge(
    "servers_enabled",
    "Servers that are switched on.",
    [],
    () => [[{}, switches.servers()]],
    "max",
  );
  page.gauge(
    "tools_enabled",
    "Tools that are switched on, as is their server.",
    [],
    () => [[{}, switches.tools()]],
    "max",
  );
  page.histogram(
    "tool_call_duration_seconds",
    "Time from the arrival of a tool call to its end.",
    function* () {
      for (const { labels, durations } of counts.tools()) yield [labels, durations];
    },
  );
  page.gauge("tool_calls_in_flight", "Tool calls that have not ended yet.", [], () => [
    [{}, counts.inFlight],
  ]);
}

/** Histograms of the OpenTelemetry conventions for MCP (`mcp.server.operation.duration` and its kin) in Prometheus spelling. */
export function exposeConventions(page: Exposition, { counts, life }: Sources): void {
  page.histogram(
    "mcp_server_operation_duration_seconds",
    "Duration of requests of MCP clients to the gateway.",
    () => counts.served.rows(),
  );
  page.histogram(
    "mcp_client_operation_duration_seconds",
    "Duration of requests of the gateway to MCP servers.",
    () => counts.relayed.rows(),
  );
  page.histogram(
    "mcp_server_session_duration_seconds",
    "Duration of ended sessions of MCP clients.",
    () => life.sessionTimes.rows(),
  );
}

/** Figures about what runs beyond its connection. */
export function exposeTasks(page: Exposition, tasks: TaskService): void {
  const each = (of: (counts: TableCounts) => number) =>
    function* (): Generator<Sample> {
      for (const [kind, { counts }] of tasks.tables) yield [{ kind }, of(counts)];
    };
  const running = each((counts) => counts.running);
  page.gauge("tasks_running", "Tasks at work.", ["kind"], running);
  const kept = each((counts) => counts.kept);
  page.gauge("tasks_kept", "Tasks that are kept, at work and ended.", ["kind"], kept);
  page.counter(
    "tasks_refused_total",
    "Tasks, results of tasks and look-ups that were beyond a bound.",
    ["kind", "bound"],
    function* () {
      for (const [kind, { counts }] of tasks.tables)
        for (const [bound, count] of counts.refused) yield [{ kind, bound }, count];
      yield [{ kind: "all", bound: "lookups" }, tasks.refusedLookups];
    },
  );
}

/** Figures about upstreams, sessions and the configuration. */
export function exposeGateway(page: Exposition, { life, gateway }: Sources): void {
  const { info } = gateway;
  page.gauge(
    "upstream_state",
    "1 for the state that a server is in, 0 for the others.",
    ["server", "state"],
    function* () {
      for (const [server, { status }] of gateway.info.servers)
        for (const state of STATES) yield [{ server, state }, Number(state === status.state)];
    },
    "max",
  );
  page.counter(
    "upstream_reconnects_total",
    "Connection attempts after the first.",
    ["server"],
    () => labelled("server", life.reconnects),
  );
  page.counter(
    "upstream_messages_dropped_total",
    "Messages of a server that were thrown away: invalid, too deep, or nobody's.",
    ["server"],
    function* () {
      for (const [server, { dropped }] of gateway.info.servers)
        if (dropped !== undefined) yield [{ server }, dropped];
    },
  );
  page.gauge("sessions_open", "Open MCP sessions of the legacy era.", ["endpoint"], () =>
    labelled("endpoint", life.sessions()),
  );
  page.counter(
    "session_streams_refused_total",
    "Streams of sessions that were not taken over from other replicas, because too many were at that moment.",
    ["bound"],
    () => labelled("bound", Object.entries(life.refusedStreams)),
  );
  page.counter("config_reloads_total", "Reloads of the configuration.", ["outcome"], () =>
    labelled("outcome", Object.entries(life.reloads)),
  );
  page.counter(
    "answers_cut_total",
    "Answers that were cut off because their clients did not read them.",
    ["reason"],
    () => labelled("reason", Object.entries(life.cuts)),
  );
  page.counter(
    "auth_throttled_total",
    "Requests refused because too many credentials were wrong before them.",
    ["by"],
    () => labelled("by", Object.entries(life.throttled)),
  );
  page.gauge(
    "config_generation",
    "Counts applied configurations, from 1.",
    [],
    () => [[{}, info.generation]],
    "max",
  );
  page.gauge(
    "propylon_build_info",
    "Version of the gateway.",
    ["version"],
    () => [[{ version: VERSION }, 1]],
    "max",
  );
  page.gauge(
    "workers",
    "Processes that serve together, by state; without workers there are none.",
    ["state"],
    function* () {
      const { workers } = info.describe();
      for (const state of workers ? WORKER_STATES : [])
        yield [{ state }, workers!.all.filter((each) => each.state === state).length];
    },
    "max",
  );
}

function* labelled(label: string, values: Iterable<readonly [string, number]>): Generator<Sample> {
  for (const [name, value] of values) yield [{ [label]: name }, value];
}
