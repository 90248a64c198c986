import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Servers of the config that no message is for. */
const OTHERS = 299;

/**
 * A message to a skill that is an echo tool, in A2A 1.0 and in contract v1. The floor is the same call over MCP to the same gateway,
 * which makes it once more; the costs must not grow with the config. With SQLite each task is in the file before its answer goes out.
 */
export async function a2a(bench) {
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  try {
    await measure(bench, `sqlite:${join(folder, "gateway.db")}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(bench, store) {
  const upstream = await bench.upstream();
  const small = await bench.gateway(configOf(upstream.port, 0));
  const large = await bench.gateway(configOf(upstream.port, OTHERS));
  const stored = await bench.gateway({ ...configOf(upstream.port, 0), store });
  const drive = (target, dialect, path = "/agent") =>
    bench.drive(target, { dialect, call: "echo", connections: 16, path });
  const samples = await bench.interleave("A2A message to an echo tool, 16 connections", {
    "propylon MCP": () => drive(small, "legacy", "/mcp"),
    "propylon A2A 1.0": () => drive(small, "a2a"),
    "propylon contract v1": () => drive(small, "contract"),
    "propylon A2A 1.0, 300 servers": () => drive(large, "a2a"),
    "propylon contract v1, 300 servers": () => drive(large, "contract"),
    "propylon MCP, sqlite": () => drive(stored, "legacy", "/mcp"),
    "propylon A2A 1.0, sqlite": () => drive(stored, "a2a"),
    "propylon contract v1, sqlite": () => drive(stored, "contract"),
  });
  const compare = (name, cell, floor) => bench.ratio(name, samples[cell], samples[floor], "cpu");
  compare("a2a_send_cpu", "propylon A2A 1.0", "propylon MCP");
  compare("contract_send_cpu", "propylon contract v1", "propylon MCP");
  compare("a2a_growth_cpu", "propylon A2A 1.0, 300 servers", "propylon A2A 1.0");
  compare("contract_growth_cpu", "propylon contract v1, 300 servers", "propylon contract v1");
  compare("a2a_sqlite_cpu", "propylon A2A 1.0, sqlite", "propylon MCP, sqlite");
  compare("contract_sqlite_cpu", "propylon contract v1, sqlite", "propylon MCP, sqlite");
  await bench.release([upstream, small, large, stored]);
}

function configOf(port, others) {
  const url = `http://127.0.0.1:${port}/mcp`;
  const servers = Object.fromEntries(
    Array.from({ length: others }, (_, index) => [`other${index}`, { url, enabled: true }]),
  );
  return {
    servers: { upstream: { url }, ...servers },
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
