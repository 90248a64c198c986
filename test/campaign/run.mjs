/**
 * npm run campaign -- [name ...] [--times N]
 *
 * The long runs that a release needs and a commit does not: the hardest tests again and again, with fresh random input each
 * time, and half a million calls. Prints what was done; fails when anything did.
 */
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { build, root } from "../../playground/ready.mjs";

const vitest = (...files) => [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--config",
  "test/vitest.config.ts",
  ...files,
];

/** `each` says what one run does, so that the total can be told; what is `byHand` runs only when named. */
const CAMPAIGNS = {
  fuzz: {
    args: vitest("test/e2e/fuzz.long.test.ts"),
    env: { FUZZ_REQUESTS: "20000" },
    times: 10,
    each: "100,000 fuzzed messages and 20,000 raw requests",
  },
  "http-client": {
    args: vitest("test/plugins/servers/http-fuzz.test.ts"),
    env: { HTTP_ANSWERS: "1000000" },
    times: 1,
    each: "1,000,000 spoilt answers of HTTP servers, read by the gateway's client and by that of node:http",
  },
  names: {
    args: vitest("test/plugins/mcp/name-histories.long.test.ts"),
    env: { NAME_HISTORIES: "1000" },
    times: 1,
    each: "1,000 histories of servers that come, go, are late, are renamed",
  },
  sigterm: {
    args: vitest("test/e2e/sigterm.long.test.ts"),
    env: { SIGTERM_RUNS: "50" },
    times: 4,
    each: "50 shutdowns under load",
  },
  "a2a-sigterm": {
    args: vitest("test/e2e/a2a-sigterm.long.test.ts"),
    env: { A2A_SIGTERM_RUNS: "100" },
    times: 1,
    each: "100 shutdowns of a runtime under load, and every other one with its true times",
  },
  spawn: {
    args: vitest("test/core/process/supervision.alone.long.test.ts"),
    times: 3,
    each: "200 spawn and close cycles of a process tree",
  },
  reload: {
    args: vitest("test/e2e/reload.long.test.ts"),
    times: 2,
    each: "50 reloads under load and 50 corrupt configs",
  },
  workers: {
    args: vitest("test/core/workers/kill.long.test.ts"),
    env: { WORKER_KILLS: "100", WORKER_RELOADS: "50", WORKER_RATE: "500" },
    times: 1,
    each: "100 kill -9 of a worker and 50 reloads under 500 calls per second",
  },
  state: {
    args: vitest("test/plugins/gating/kill.long.test.ts"),
    env: { STATE_KILLS: "1000" },
    times: 1,
    each: "1,000 kill -9 in the middle of writing the state file",
  },
  migration: {
    args: [
      ...vitest("test/core/store/database.long.test.ts"),
      "test/plugins/team-auth/migration-kill.long.test.ts",
    ],
    env: { MIGRATION_KILLS: "200" },
    times: 1,
    each: "200 migrations killed at random moments, and 200 of the tables of team-auth, with SQLite and with PostgreSQL",
  },
  "store-away": {
    args: vitest("test/e2e/store-away.long.test.ts"),
    env: { STORE_AWAY: "60" },
    times: 1,
    each: "60 s without PostgreSQL, and without NATS, under load",
  },
  write: {
    args: vitest("test/core/config/write.long.test.ts"),
    env: { WRITE_KILLS: "1000" },
    times: 1,
    each: "1,000 programs killed with SIGKILL while they write a config",
  },
  clicks: {
    args: vitest("test/plugins/ui/clicks.long.test.ts"),
    env: { UI_CLICKS: "2000" },
    times: 1,
    each: "2,000 random clicks in a read-only gateway",
  },
  controls: {
    args: vitest(
      "test/plugins/ui/accountability.long.test.ts",
      "test/plugins/ui/roles.long.test.ts",
    ),
    env: { UI_CONTROLS: "all" },
    times: 1,
    each: "every control of every page of the web interface is used, and axe looks at all pages in every role",
  },
  cuts: {
    args: vitest("test/plugins/ui/cuts.long.test.ts", "test/plugins/ui/live.long.test.ts"),
    env: { UI_CUTS: "50", UI_CHANGES: "200" },
    times: 1,
    each: "50 cuts of the page's event stream, 200 changes by somebody else",
  },
  plan: {
    args: vitest("test/core/gateway/plan.unit.test.ts", "test/core/config/identity.unit.test.ts"),
    env: { PLAN_EDITS: "2000", IDENTITY_CONFIGS: "2000" },
    times: 1,
    each: "2,000 random edits whose plan is what the reload does, and 2,000 configs that are text and back",
  },
  edits: {
    args: vitest("test/e2e/edit-kill.long.test.ts"),
    env: { EDIT_KILLS: "1000" },
    times: 1,
    each: "1,000 gateways killed with SIGKILL while they edit their config",
  },
  events: {
    args: vitest("test/plugins/events/replicas.long.test.ts"),
    env: { EVENT_MOVES: "1000" },
    times: 1,
    each: "1,000 moves of an event stream between three gateways on PostgreSQL, and on NATS",
  },
  sessions: {
    args: vitest("test/e2e/kept-sessions.long.test.ts"),
    env: { SESSION_KILLS: "200" },
    times: 1,
    each: "200 gateways killed with SIGKILL while official clients call through their sessions",
  },
  templates: {
    args: vitest("test/e2e/templates-projects.long.test.ts"),
    env: { TEMPLATES_ALL: "1" },
    times: 1,
    each: "every template in every way: config, format, its own tests, the steps of its Dockerfile",
  },
  release: {
    args: vitest("test/e2e/release.long.test.ts"),
    env: { RELEASE_ALL: "1" },
    times: 1,
    each: "every step of the release workflow in a clean clone, to the bill of materials and the publishing of both packages",
  },
  relay: { args: vitest("test/e2e/relay"), times: 5, each: "the relay matrix" },
  queue: {
    args: vitest("test/e2e/queue-campaign.long.test.ts"),
    env: { QUEUE_TASKS: "2000", QUEUE_KILLS: "50", QUEUE_OUTAGE: "30" },
    times: 1,
    each: "2,000 tasks, and 50 SIGKILL each of sidecar, runtime and nats-server",
  },
  answers: {
    args: vitest("test/e2e/answers.long.test.ts"),
    env: { ANSWER_RUNS: "34" },
    times: 1,
    each: "238 questions answered behind a kill -9, over SQLite, PostgreSQL and NATS, with one to three gateways",
  },
  "store-kill": {
    args: vitest("test/e2e/store-kill.long.test.ts"),
    env: { GATEWAY_KILLS: "200" },
    times: 1,
    each: "200 gateways killed with SIGKILL under load, and everything that they had said looked at",
  },
  "tasks-kill": {
    args: vitest("test/e2e/tasks-kill.long.test.ts"),
    env: { TASK_KILLS: "100" },
    times: 1,
    each: "100 gateways killed with SIGKILL while MCP tasks run, 5 of each kind",
  },
  "cluster-kill": {
    args: vitest("test/e2e/cluster-kill.long.test.ts"),
    env: { CLUSTER_CALLS: "10000", CLUSTER_TASKS: "2000", CLUSTER_SECONDS: "900" },
    times: 1,
    each: "three times 15 minutes of a project of --with cluster, on PostgreSQL, on NATS, and on NATS with execution: queue, whose gateways are killed with SIGKILL one after the other each 5 s",
  },
  streams: {
    args: vitest("test/plugins/mcp/replicas.long.test.ts"),
    env: { STREAM_MOVES: "1000", REPLICA_ROUNDS: "1000" },
    times: 1,
    each: "1,000 moves of the stream of a session and 1,000 of a subscription between three gateways, on PostgreSQL and on NATS, half of them while a change was on its way",
  },
  "replica-kill": {
    args: vitest("test/e2e/replica-kill.long.test.ts"),
    env: {
      REPLICA_KILLS: "10",
      REPLICA_CLIENTS: "500",
      REPLICA_EXCHANGES: "20000",
      REPLICA_KILL_MS: "5000",
      REPLICA_RATE: "40",
    },
    times: 1,
    each: "20,000 exchanges of 500 sessions at any of three gateways, on PostgreSQL and on NATS, of which one is killed with SIGKILL each 5 s",
  },
  rolling: {
    args: vitest("test/e2e/rolling.long.test.ts"),
    env: { ROLLING_ROUNDS: "20", ROLLING_RATE: "300" },
    times: 1,
    each: "two times 20 rounds of a project of --with cluster at 300 calls a second, on PostgreSQL and on NATS, whose three gateways are stopped and started as another version one after the other",
  },
  payloads: {
    args: vitest("test/plugins/payloads/replicas.long.test.ts"),
    env: { PAYLOADS: "1000", PAYLOAD_BYTES: "50000000" },
    times: 1,
    each: "1,000 payloads of 1 KiB to 50 MB, written at one gateway and read at another one at once, with a bucket and with PostgreSQL alone",
  },
  stores: {
    args: [
      ...vitest("test/plugins/ratelimit/replicas.long.test.ts"),
      "test/plugins/a2a-standard/replicas.test.ts",
      "test/plugins/a2a/queue.long.test.ts",
    ],
    times: 3,
    each: "what several gateways of one store have in common, over PostgreSQL and over NATS: limits, tasks, ends that are told",
  },
  switches: {
    args: vitest("test/plugins/gating/replicas.long.test.ts"),
    env: { SWITCHES: "500", SWITCHES_BROKEN: "500" },
    times: 1,
    each: "500 switches of a tool between three gateways, 300 at once, and 500 while the connections of one break, for PostgreSQL and for NATS each",
  },
  leader: {
    args: vitest("test/e2e/leader.long.test.ts"),
    env: { LEADER_ROUNDS: "50" },
    times: 1,
    each: "50 holders of a lease stopped with SIGSTOP and 50 cut off from their store, for PostgreSQL and for NATS each",
  },
  placement: {
    args: vitest("test/e2e/placement.long.test.ts"),
    env: { PLACEMENT_ROUNDS: "25" },
    times: 1,
    each: "25 gateways killed with SIGKILL that run a server for three, for PostgreSQL and for NATS each: at most one process, each move within 3 s",
  },
  "limits-kill": {
    args: vitest("test/e2e/limits-kill.long.test.ts"),
    env: { LIMIT_KILL_SECONDS: "60" },
    times: 1,
    each: "a minute of a limit and a minute of a bound, for PostgreSQL and for NATS each, while one of three gateways is killed each 5 s",
  },
  access: {
    args: vitest("test/e2e/access-plugins.long.test.ts"),
    env: { ACCESS_EVERYONE: "1" },
    times: 1,
    each: "every route of every plugin, asked by nine kinds of callers in nine configs",
  },
  reconciler: {
    args: vitest("test/plugins/console/reconciler.long.test.ts"),
    env: { RECONCILER_ORDERS: "1000" },
    times: 1,
    each: "1,000 random orders of hooks of a console against each issuer that fails",
  },
  principals: {
    args: vitest("test/plugins/oauth-client/principals.long.test.ts"),
    env: { ROUNDS: "10000" },
    times: 1,
    each: "10,000 interleaved calls of two people with two accounts, in each era",
  },
  "forged-tokens": {
    args: vitest("test/e2e/team-auth/forged-tokens.long.test.ts"),
    env: { FORGED_TOKENS: "100000" },
    times: 1,
    each: "100,000 mutated and forged bearers of every kind",
  },
  "oauth-forged": {
    args: vitest("test/e2e/oauth-forged.test.ts"),
    env: { OAUTH_FORGED: "100000" },
    times: 1,
    each: "100,000 forged and mutated requests to the authorization server, and tokens of it",
  },
  revocation: {
    args: vitest("test/e2e/team-auth/revocation.long.test.ts"),
    env: {
      REVOCATIONS: "2000",
      REVOCATION_GATEWAYS: "2,3",
      REVOCATION_CALLS: "300",
      REVOCATION_TIMED: "1",
    },
    times: 1,
    each: "2,000 changes of teams at two and at three gateways of one PostgreSQL under 300 calls a second, and with one stopped",
  },
  eviction: {
    args: vitest("test/e2e/team-auth/eviction.long.test.ts"),
    env: { EVICTION_SHARE: "100" },
    times: 1,
    each: "450 streams and sockets and 50 calls of a team, which is rotated beside 500 streams of others",
  },
  "replay-cache": {
    args: vitest("test/e2e/team-auth/replay.long.test.ts"),
    env: { REPLAY_USES: "20000", REPLAY_KILLS: "10" },
    times: 1,
    each: "20,000 uses of per-turn tokens at three gateways, 10 of them killed meanwhile, beside a model",
  },
  isolation: {
    args: vitest("test/e2e/team-auth/isolation.long.test.ts"),
    env: { ISOLATION_REQUESTS: "10000" },
    times: 1,
    each: "10,000 requests of two consoles about each other's teams",
  },
  deploys: {
    args: [...vitest("test/plugins/a2a/restart.test.ts"), "test/e2e/store-sigterm.long.test.ts"],
    env: { DEPLOYS: "50", DEPLOY_SHARE: "1" },
    times: 1,
    each: "a conversation over 50 restarts, and a SIGTERM with 100 conversations, 50 agents and 20 webhooks",
  },
  store: {
    args: [
      ...vitest("test/plugins/sqlite"),
      "test/plugins/postgres",
      "test/plugins/nats",
      "test/plugins/redis",
      "test/core/store",
    ],
    env: { STORE_STEPS: "200000", STORE_KILLS: "200", STORE_CRASHES: "20" },
    times: 1,
    each: "200,000 steps beside a model per store, 200 writers killed with SIGKILL per store that outlives them, 40 ends of PostgreSQL and of Redis",
  },
  mutants: {
    args: ["test/campaign/mutants/run.mjs"],
    times: 1,
    each: "300 random one-token mutants of nine plugins, each of which a test must see or equal.json explain",
  },
  chaos: {
    args: ["test/campaign/chaos/run.mjs"],
    times: 1,
    each: "15 minutes of 40 clients and 7 servers that are killed, stopped, removed and reloaded",
  },
  clients: {
    args: ["test/campaign/clients/run.mjs"],
    times: 1,
    byHand: true,
    each: "official SDKs and agent frameworks as clients and servers, installed from the registries",
  },
  "real-documents": {
    args: ["test/campaign/real-documents/run.mjs"],
    times: 1,
    byHand: true,
    each: "about 2,000 real OpenAPI documents, listed by the official SDKs and called against a mock of each",
  },
  "worst-inputs": {
    args: vitest(
      "test/e2e/worst/worst-inputs.long.test.ts",
      "test/e2e/worst/logins.long.test.ts",
      "test/e2e/worst/inbound.long.test.ts",
      "test/e2e/worst/frames.long.test.ts",
      "test/e2e/worst/model-frames.long.test.ts",
    ),
    env: { WORST_INPUTS: "1" },
    times: 1,
    each: "the five worst of 150 shapes at every input of the product, in five sizes up to 4 MB, at gateways of 512 MiB",
  },
  "session-restarts": {
    args: vitest("test/plugins/mcp/restarts.long.test.ts"),
    env: { SESSION_RESTARTS: "2000" },
    times: 1,
    each: "2,000 restarts of a gateway with a session that has subscriptions",
  },
  orphans: {
    args: vitest("test/core/workers/orphans.long.test.ts"),
    env: { PRIMARY_KILLS: "30" },
    times: 1,
    each: "30 primaries killed with SIGKILL under load, whose workers must not live on",
  },
  "hostile-server": {
    args: vitest("test/e2e/hostile/campaign.test.ts"),
    env: { HOSTILE_MESSAGES: "100000" },
    times: 1,
    each: "100,000 random messages of a hostile server over each of stdio, HTTP and HTTP+SSE",
  },
  soak: {
    args: ["test/bench/run.mjs", "--only", "memory", "--long"],
    times: 1,
    each: "500,000 calls with the heap measured",
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string" } },
});

function chosen() {
  const unknown = positionals.find((name) => !(name in CAMPAIGNS));
  if (unknown)
    throw new Error(
      `Unknown campaign "${unknown}"; choose from ${Object.keys(CAMPAIGNS).join(", ")}.`,
    );
  if (positionals.length > 0) return positionals;
  return Object.keys(CAMPAIGNS).filter((name) => !CAMPAIGNS[name].byHand);
}

function timesOf(name) {
  const times = Number(values.times ?? CAMPAIGNS[name].times);
  if (!Number.isInteger(times) || times < 1)
    throw new Error(`--times must be a whole number from 1, got "${values.times}".`);
  return times;
}

/** Resolves with whether the program ended well. */
function runOnce({ args, env }) {
  return new Promise((resolve) => {
    spawn(process.execPath, args, {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, EVERY_STORE: "1", ...env },
    }).once("exit", (code) => resolve(code === 0));
  });
}

async function runCampaign(name) {
  const { each } = CAMPAIGNS[name];
  const times = timesOf(name);
  const from = performance.now();
  let passed = 0;
  for (let run = 0; run < times; run++) if (await runOnce(CAMPAIGNS[name])) passed++;
  const minutes = ((performance.now() - from) / 60_000).toFixed(1);
  return {
    name,
    line: `${name}: ${passed}/${times} passed, each ${each}; ${minutes} min`,
    ok: passed === times,
  };
}

try {
  const results = [];
  const names = chosen();
  build();
  for (const name of names) results.push(await runCampaign(name));
  for (const { line } of results) console.log(line);
  process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
} catch (error) {
  console.error(`campaign: ${error.message}`);
  process.exitCode = 2;
}
