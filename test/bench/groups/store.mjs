import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNats } from "../../fixtures/nats/nats.mjs";
import { postgresFolder, startPostgres } from "../../fixtures/postgres/postgres.mjs";

/** Calls that the history of a full store has. */
const ENTRIES = 100_000;

/** Agents whose status is asked for at once. */
const AGENTS = 10;

/**
 * What a store costs: a relayed call, which never touches it, an A2A message, which is in it before its answer goes out, and the
 * status of agents of lifecycle, which is read from memory. The floor is `memory`, and that of `memory` the code of before the store, where
 * `--before` names it. PostgreSQL and nats-server run on the core of the load generator.
 */
export async function store(bench) {
  const upstream = await bench.upstream();
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const { stores, stop } = await startStores(folder);
  const gateways = Object.fromEntries(
    await Promise.all(
      Object.entries(stores).map(async ([name, url]) => [
        name,
        await bench.gateway(configOf(upstream.port, url)),
      ]),
    ),
  );
  const before = await earlier(bench, upstream.port);
  try {
    const echo = { call: "echo", connections: 16 };
    const relayed = { ...echo, dialect: "legacy", path: "/mcp" };
    const samples = await measure(
      bench,
      { ...gateways, ...before },
      "relayed call",
      "relay",
      relayed,
    );
    if (before) bench.ratio("store_relay_cpu_memory", samples.memory, samples.before, "cpu");
    const message = { ...echo, dialect: "a2a", path: "/agent" };
    await measure(bench, gateways, "A2A message", "a2a", message);
    const ids = await makeAgents(gateways);
    const status = { call: "agentStatus", connections: 16, dialect: "legacy", path: "/agents" };
    await measure(bench, gateways, `status of ${AGENTS} agents`, "status", status, ids);
    await measureStart(bench, upstream.port, folder);
  } finally {
    await bench.release([upstream, ...Object.values(gateways), ...Object.values(before ?? {})]);
    await stop();
    rmSync(folder, { recursive: true });
  }
}

/** The gateway of earlier code, which knows no store. */
async function earlier(bench, port) {
  const { store: _, plugins: __, endpoints, ...rest } = configOf(port);
  const before = await bench.gatewayBefore({ ...rest, endpoints: { mcp: endpoints.mcp } });
  return before && { before };
}

/** Agents that wait to be started. @returns their ids, by gateway */
async function makeAgents(gateways) {
  const ids = {};
  for (const [name, { port }] of Object.entries(gateways)) {
    ids[name] = [];
    while (ids[name].length < AGENTS) {
      const response = await fetch(`http://127.0.0.1:${port}/api/agents`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ contract: "Wait until you are started.", start: false }),
      });
      if (!response.ok) throw new Error(`POST /api/agents answered ${await response.text()}`);
      ids[name].push((await response.json()).agent_id);
    }
  }
  return ids;
}

async function measure(bench, gateways, what, short, wanted, ids) {
  const cells = Object.entries(gateways).map(([name, gateway]) => [
    name,
    () => bench.drive(gateway, { ...wanted, ...(ids && { ids: ids[name] }) }),
  ]);
  const samples = await bench.interleave(`${what} by store`, Object.fromEntries(cells));
  for (const name of Object.keys(gateways)) {
    if (name === "memory" || name === "before") continue;
    bench.ratio(`store_${short}_cpu_${name}`, samples[name], samples.memory, "cpu");
    bench.ratio(`store_${short}_p50_${name}`, samples[name], samples.memory, "p50");
  }
  return samples;
}

/** How long a gateway takes until it is ready that finds many calls in its store, beside one that finds none. */
async function measureStart(bench, port, folder) {
  const start = (name) => bench.gateway(historyOf(port, `sqlite:${join(folder, `${name}.db`)}`));
  const filled = await start("full");
  const relayed = { call: "echo", connections: 16, dialect: "legacy", path: "/mcp" };
  await bench.load("prepare", { port: filled.port, ...relayed });
  // What is called in the last round may be lost with the kill; the rest is there.
  for (let calls = 0; calls < ENTRIES;) calls += (await bench.load("run", { ms: 1_000 })).count;
  await bench.load("run", { ms: 1_000 });
  await bench.load("finish");
  await bench.release([filled]);
  const time = async (name, wanted) => {
    const gateway = await start(name);
    const { startWall: wall, startCpu } = gateway;
    const count = await entriesOf(gateway);
    if (count !== wanted) throw new Error(`${count} entries are there in place of ${wanted}`);
    await bench.release([gateway]);
    return { wall, cpu: startCpu * 1_000 };
  };
  const samples = await bench.interleave("start with SQLite", {
    "no entries": () => time("empty", 0),
    "100,000 entries": () => time("full", ENTRIES),
  });
  const more = samples["100,000 entries"].map(
    ({ wall }, round) => wall - samples["no entries"][round].wall,
  );
  bench.figure("store_start_full_ms", more);
}

async function entriesOf({ port }) {
  const response = await fetch(`http://127.0.0.1:${port}/_meta/history/export`);
  if (!response.ok) throw new Error(`GET /_meta/history/export answered ${await response.text()}`);
  return (await response.text()).trim().split("\n").filter(Boolean).length;
}

function historyOf(port, url) {
  return {
    store: url,
    servers: { upstream: { url: `http://127.0.0.1:${port}/mcp` } },
    plugins: { history: { maxEntries: ENTRIES, maxMemory: "512MiB" } },
  };
}

/** Those that this machine has. */
async function startStores(folder) {
  const nats = await startNats();
  const postgres = postgresFolder() && (await startPostgres(await freePort()));
  return {
    stores: {
      memory: "memory",
      sqlite: `sqlite:${join(folder, "normal.db")}`,
      ...(postgres && { postgres: postgres.url }),
      nats: nats.url,
    },
    stop: () => Promise.all([nats.stop(), postgres?.stop()]),
  };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function configOf(port, url) {
  return {
    store: url,
    servers: { upstream: { url: `http://127.0.0.1:${port}/mcp` } },
    endpoints: {
      mcp: { path: "/mcp", servers: ["upstream"], naming: "none" },
      agents: { path: "/agents", servers: ["lifecycle"], naming: "none" },
    },
    plugins: {
      agents: {
        // No agent is started, so nobody is asked.
        providers: { none: { type: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1" } },
        model: "none/none",
        agents: { worker: {} },
      },
      lifecycle: { maxWaiting: 1_000 },
      a2a: {
        listener: "main",
        path: "/agent",
        description: "An echo.",
        skills: [
          { id: "echo", description: "Says it again.", tool: { server: "upstream", name: "echo" } },
        ],
      },
    },
  };
}
