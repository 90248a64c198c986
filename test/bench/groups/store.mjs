import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNats } from "../../fixtures/nats/nats.mjs";
import { postgresFolder, startPostgres } from "../../fixtures/postgres/postgres.mjs";

/**
 * What a store costs: a relayed call, which never touches it, and an A2A message, which is in it before its answer goes out. The
 * floor is `memory`. PostgreSQL and nats-server run on the core of the load generator.
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
  try {
    await measure(bench, gateways, "relayed call", "relay", { dialect: "legacy", path: "/mcp" });
    await measure(bench, gateways, "A2A message", "a2a", { dialect: "a2a", path: "/agent" });
  } finally {
    await bench.release([upstream, ...Object.values(gateways)]);
    await stop();
    rmSync(folder, { recursive: true });
  }
}

async function measure(bench, gateways, what, short, wanted) {
  const cells = Object.entries(gateways).map(([name, gateway]) => [
    name,
    () => bench.drive(gateway, { call: "echo", connections: 16, ...wanted }),
  ]);
  const samples = await bench.interleave(`${what} by store`, Object.fromEntries(cells));
  for (const name of Object.keys(gateways)) {
    if (name === "memory") continue;
    bench.ratio(`store_${short}_cpu_${name}`, samples[name], samples.memory, "cpu");
    bench.ratio(`store_${short}_p50_${name}`, samples[name], samples.memory, "p50");
  }
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
    endpoints: { mcp: { path: "/mcp", servers: ["upstream"], naming: "none" } },
    plugins: {
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
