/** Median, least and greatest of a list of numbers. */
export function spread(values) {
  const sorted = [...values].toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** Two-sided 95 % quantiles of Student's t by degrees of freedom, from 1. */
const T95 = [
  12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13,
];

/**
 * What ratios of independent rounds say: their geometric mean, with the interval that holds the true one at 95 %, and the verdict.
 * Ratios that only scatter have 1 in their interval.
 */
export function interval(ratios) {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const squares = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0);
  const error = Math.sqrt(squares / (logs.length - 1) / logs.length);
  const quantile = T95[Math.min(logs.length - 2, T95.length - 1)];
  // One round says nothing of how rounds differ.
  const reach = quantile === undefined ? Infinity : quantile * error;
  const [low, high] = [Math.exp(mean - reach), Math.exp(mean + reach)];
  const verdict = high < 1 ? "cheaper" : low > 1 ? "dearer" : "no difference shown";
  return { ...spread(ratios), mean: Math.exp(mean), low, high, verdict };
}

/** Goals of the design by name: how the figure must compare, and what it says. */
export const GOALS = {
  relay_core_cpu: ["<=", 1.25, "CPU per relayed tools/call / raw undici proxy"],
  relay_rps: [">=", 0.65, "throughput at 16 and 64 connections / raw proxy"],
  relay_vs_naive: [">=", 10, "CPU of the naive SDK gateway / ours"],
  relay_vs_best_peer: [">=", 8, "CPU of the cheapest npm peer over HTTP / ours"],
  peer_cpu: [
    undefined,
    undefined,
    "CPU per call of a gateway of others, the raw proxy or production / our core",
  ],
  // 40 µs of 60 for 10 KB, 35 of 62 for a thousand at once, 21 of 33 for a session, where a call took 23.4.
  arguments_10k_cpu: ["<=", 1.7, "CPU per call of 10 KB both ways / of 350 bytes"],
  arguments_10k_vs_raw: [undefined, undefined, "CPU per call of 10 KB both ways / raw proxy"],
  concurrent_1000_cpu: ["<=", 1.5, "CPU per call, 1,000 at once / 16 at once"],
  concurrent_1000_vs_raw: ["<=", 1.4, "CPU per call, 1,000 at once / raw proxy"],
  servers_100_cpu: ["<=", 1.1, "CPU per call, 100 at once, to 100 servers / to one"],
  session_cpu: ["<=", 0.9, "CPU per session opened and ended / per relayed call"],
  // Three requests; the Go proxy answers them for half of what a bare server of Node takes.
  session_vs_raw: ["<=", 1.2, "CPU per session opened and ended / raw server"],
  production_cpu: [
    "<=",
    1.6,
    "CPU per relayed call with a key, a log line and every plugin / raw undici proxy",
  ],
  tail_core_p99: ["<=", 1.5, "p99 added at a fixed rate / that of the raw proxy"],
  tail_production_p99: ["<=", 2.5, "the same with a key, a log line and every plugin"],
  tail_sqlite_p99: ["<=", 4, "the same with store sqlite"],
  tail_full_p99: ["<=", 4, "the same with tokens of teams and one trace of ten exported"],
  "dress_cpu core": ["<=", 1.25, "CPU per relayed call / raw undici proxy"],
  "dress_cpu production": ["<=", 1.6, "the same with a key, a log line and eight plugins"],
  "dress_cpu production, sqlite": [undefined, undefined, "the same with store sqlite"],
  "dress_cpu full dress": ["<=", 2, "the same with tokens of teams and one trace of ten exported"],
  tail_p999_ms: ["<=", 15, "p99.9 added at a fixed rate, in milliseconds"],
  "longest_turn_ms raw proxy": [undefined, undefined, "what the machine itself does to a loop"],
  longest_turn_ms: ["<=", 5, "longest turn of the loop at 3,000 calls/s, in milliseconds"],
  http_tool_cpu: ["<=", 1.5, "CPU per POST /{server}/{tool} / raw undici proxy"],
  a2a_send_cpu: ["<=", 3, "CPU per A2A 1.0 message/send of an echo tool / an MCP call of it"],
  contract_send_cpu: ["<=", 3, "CPU per message of contract v1 to it / an MCP call of it"],
  a2a_sqlite_cpu: ["<=", 4, "CPU per A2A 1.0 message with store sqlite / an MCP call of it"],
  contract_sqlite_cpu: ["<=", 4, "the same in contract v1"],
  a2a_growth_cpu: ["<=", 1.2, "CPU per A2A message, 300 servers in the config / one"],
  contract_growth_cpu: ["<=", 1.2, "the same in contract v1"],
  workers_relay_cpu: ["<=", 1.1, "CPU per relayed call with 2 workers / in one process"],
  workers_production_cpu: ["<=", 1.1, "the same with a key, a log line and every plugin"],
  workers_rest_ms_per_s: ["<=", 1, "CPU of each process of 2 workers at rest, in ms a second"],
  auth_cpu_opaque: [
    "<=",
    1.15,
    "CPU per relayed call with an opaque token / with a key of the config",
  ],
  auth_cpu_team: ["<=", 1.15, "the same with the token of a team"],
  auth_us_opaque: ["<=", 10, "µs of CPU per relayed call more than with a key of the config"],
  auth_us_team: ["<=", 10, "the same with the token of a team"],
  auth_us_jwt: ["<=", 10, "the same with a signed token, by auth.jwt"],
  auth_us_oauth: ["<=", 10, "the same with a signed token, by oauth-resource"],
  auth_cpu_account: [
    "<=",
    1.1,
    "CPU per relayed call with the caller's account at the server / without a login there",
  ],
  auth_start_full_ms: ["<=", 3_000, "ready with 100,000 tokens and 10,000 teams"],
  auth_snapshot_mb: ["<=", 64, "heap of the snapshot of so many"],
  store_relay_cpu_memory: [
    "<=",
    1.03,
    "CPU per relayed call with store memory / with the code of --before",
  ],
  store_relay_cpu_sqlite: ["<=", 1.05, "CPU per relayed call with store sqlite / with memory"],
  store_relay_cpu_postgres: ["<=", 1.05, "the same with PostgreSQL"],
  store_relay_cpu_nats: ["<=", 1.05, "the same with NATS"],
  store_a2a_cpu_sqlite: [
    undefined,
    undefined,
    "CPU per A2A message with store sqlite / with memory",
  ],
  store_a2a_cpu_postgres: [undefined, undefined, "the same with PostgreSQL"],
  store_a2a_cpu_nats: [undefined, undefined, "the same with NATS"],
  store_status_cpu_sqlite: [
    undefined,
    undefined,
    "CPU per status of 10 agents with store sqlite / with memory",
  ],
  store_status_cpu_postgres: [undefined, undefined, "the same with PostgreSQL"],
  store_status_cpu_nats: [undefined, undefined, "the same with NATS"],
  store_start_full_ms: [
    "<=",
    300,
    "how much later a gateway is ready with 100,000 entries of history in SQLite than with none",
  ],
  relay_full_cpu: [
    "<=",
    1.6,
    "CPU per relayed call, every first-party plugin on / raw undici proxy",
  ],
  relay_full_rps: [">=", 0.65, "its throughput at 16 connections / raw proxy"],
  relay_full_vs_naive: [">=", 10, "CPU of the naive SDK gateway / ours, every plugin on"],
  all_plugins_cpu: [undefined, undefined, "CPU per relayed call, every plugin on / none"],
  plugin_cpu: [undefined, undefined, "CPU per relayed call, this plugin on / none"],
  added_full_p50_ms: ["<=", 0.3, "p50 at 500 calls/s, every plugin on, less that of the upstream"],
  added_full_p99_ms: ["<=", 2, "p99 at 500 calls/s, every plugin on, less that of the upstream"],
  stdio_cpu: ["<=", 1.5, "CPU per call over stdio / thin stdio relay"],
  large_result_cpu: ["<=", 1.2, "CPU per 1 MB result / byte pass-through"],
  list_1000_vs_naive: [">=", 50, "tools/list of 1,000 tools from 10 upstreams: throughput / naive"],
  added_p50_ms: ["<=", 0.3, "p50 at 500 calls/s, less that of the upstream itself"],
  added_p99_ms: ["<=", 2, "p99 at 500 calls/s, less that of the upstream itself"],
  session_heap_bytes: ["<=", 1024, "heap per idle legacy session"],
  stream_heap_bytes: ["<=", 16_384, "heap per open GET stream"],
  progress_cpu: ["<=", 1.3, "CPU per relayed notification / raw SSE relay (paced)"],
  progress_burst_cpu: [undefined, undefined, "the same in one burst of 20,000"],
  agent_start_p99_ms: ["<=", 100, "agent_start, 200 at once, 50 agents running, 50 MB of payloads"],
  agent_status_p99_ms: ["<=", 50, "agent_status of 1,000 agents"],
  agent_start_loop_p99_ms: [undefined, undefined, "how late the event loop was meanwhile"],
  agent_status_loop_p99_ms: [undefined, undefined, "how late the event loop was meanwhile"],
  sidecar_rate_vs_bare: [
    undefined,
    undefined,
    "tasks/s of the sidecar / bare JetStream pull and ack",
  ],
  sidecar_p50_vs_bare: [undefined, undefined, "p50 from queue to result / to ack, at 100 tasks/s"],
  sidecar_cpu_vs_bare: [undefined, undefined, "CPU per task / bare pull and ack"],
  sidecar_rate_vs_hand: [">=", 0.5, "tasks/s / a loop that pulls, posts, publishes, acks"],
  sidecar_p50_vs_hand: ["<=", 2, "p50 from queue to result / that loop, at 100 tasks/s"],
  sidecar_cpu_vs_hand: ["<=", 2.2, "CPU per task / that loop"],
  "telemetry_cpu no exporter": ["<=", 1.1, "CPU per relayed call with the plugin / without"],
  "telemetry_cpu metrics only": ["<=", 1.8, "the same, metrics exported and no trace kept"],
  "telemetry_cpu 1 of 10 traces": ["<=", 1.05, "the same, one trace of ten exported too"],
  "telemetry_cpu all traces": ["<=", 1.25, "the same, every trace exported"],
  start_vs_node: ["<=", 2.5, "CPU until ready, one-file build with 10 plugins / empty Node"],
  start_compiled_vs_node: ["<=", 2.5, "the same, where Node finds what it compiled before (22.8)"],
  start_cli_vs_node: [
    undefined,
    undefined,
    "the same of `propylon start` from dist, without plugins",
  ],
  start_all_vs_ten: ["<=", 2, "CPU until ready, all plugins and SQLite / 10 plugins"],
  start_before_cpu: ["<=", 1.03, "CPU until ready / of the code of --before"],
  ui_servers_script_ms: ["<=", 300, "web interface: script until 20 servers are shown"],
  ui_server_script_ms: ["<=", 300, "until 1,000 tools of a server are shown"],
  ui_activity_script_ms: ["<=", 300, "until the last calls are shown"],
  ui_servers_shifts: ["<=", 0.1, "layout shifts meanwhile, as their score"],
  ui_server_shifts: ["<=", 0.1, "the same"],
  ui_activity_shifts: ["<=", 0.1, "the same"],
  ui_servers_requests: [undefined, undefined, "requests of the page, scripts and styles included"],
  ui_server_requests: [undefined, undefined, "the same"],
  ui_activity_requests: [undefined, undefined, "the same"],
  ui_filter_ms: ["<=", 50, "from a key in the search of 1,000 tools to the next picture"],
  ui_heap_mb: ["<=", 60, "heap of the page Activity after minutes of 100 calls/s"],
  ui_heap_growth_mb: ["<=", 1, "what it grows by in 10 minutes"],
  ui_start_ms: ["<=", 10, "CPU until ready, with the plugin ui less without"],
  ui_rss_mb: ["<=", 3, "RSS, with the plugin ui less without"],
  idle_cpu_ms_per_s: ["<=", 2, "CPU at rest with 100 HTTP servers, in ms a second"],
  "idle_cpu_ms_per_s health": ["<=", 2, "the same where they are probed every 15 s"],
  idle_rss_vs_h3: ["<=", 1.6, "idle RSS with 10 HTTP upstreams / h3 alone"],
  heap_growth_bytes: ["<=", 20, "heap growth per call"],
};

/** Columns of a row, with their unit and precision. */
const FIGURES = {
  rps: ["req/s", 0],
  cpu: ["CPU µs", 1],
  before: ["before, CPU µs", 1],
  p50: ["p50 ms", 2],
  p99: ["p99 ms", 2],
  rss: ["RSS MB", 0],
  lag: ["loop p99 ms", 2],
  wall: ["wall ms", 0],
  started: ["start CPU ms", 0],
  session: ["session CPU µs", 1],
  bytes: ["bytes", 1],
};

/** The whole report as Markdown. */
export function markdown({ rows, ratios, verdicts }) {
  const groups = [...new Set(rows.map(({ group }) => group))];
  const tables = groups.map((group) =>
    groupTable(
      group,
      rows.filter((row) => row.group === group),
    ),
  );
  const compared = verdicts.length > 0 ? [verdictTable(verdicts)] : [];
  const figures = Object.keys(ratios).length > 0 ? [ratioTable(ratios)] : [];
  return [...compared, ...figures, ...tables].join("\n\n");
}

function verdictTable(verdicts) {
  return [
    "| call | CPU / before, median (min to max) | mean, 95 % interval | verdict |",
    "|---|---|---|---|",
    ...verdicts.map(
      ({ name, mean, low, high, verdict, ...range }) =>
        `| ${name} | ${format(range, 2)} | ${format({ median: mean, min: low, max: high }, 2)} | ${verdict} |`,
    ),
  ].join("\n");
}

function ratioTable(ratios) {
  const lines = Object.entries(ratios).map(([name, value]) => {
    const [sign, limit, meaning] = GOALS[name] ??
      GOALS[name.replace(/_\d+$| .*$/, "")] ?? [undefined, undefined, ""];
    const met =
      sign === undefined
        ? ""
        : (sign === "<=" ? value.median <= limit : value.median >= limit)
          ? "yes"
          : "**no**";
    const goal = sign === undefined ? "" : `${sign} ${limit.toLocaleString("en-US")}`;
    return `| \`${name}\` | ${format(value, 2)} | ${goal} | ${met} | ${meaning} |`;
  });
  return [
    "| figure | median (min to max) | goal | met | meaning |",
    "|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

function groupTable(group, rows) {
  const figures = Object.keys(FIGURES).filter((name) =>
    rows.some((row) => row[name] !== undefined),
  );
  const head = `| ${group} | ${figures.map((name) => FIGURES[name][0]).join(" | ")} |`;
  const lines = rows.map(
    (row) =>
      `| ${row.target} | ${figures.map((name) => (row[name] ? format(row[name], FIGURES[name][1]) : "")).join(" | ")} |`,
  );
  return [head, `|---|${figures.map(() => "---").join("|")}|`, ...lines].join("\n");
}

function format({ median, min, max }, digits) {
  const text = (value) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return min === max ? text(median) : `${text(median)} (${text(min)} to ${text(max)})`;
}
