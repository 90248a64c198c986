/** Servers of the config that no message is for. */
const OTHERS = 299;

/**
 * A message to a skill that is an echo tool, in A2A 1.0 and in contract v1. The floor is the same call over MCP to the same gateway,
 * which makes it once more; the costs must not grow with the config.
 */
export async function a2a(bench) {
  const upstream = await bench.upstream();
  const small = await bench.gateway(configOf(upstream.port, 0));
  const large = await bench.gateway(configOf(upstream.port, OTHERS));
  const drive = (target, dialect, path = "/agent") =>
    bench.drive(target, { dialect, call: "echo", connections: 16, path });
  const samples = await bench.interleave("A2A message to an echo tool, 16 connections", {
    "propylon MCP": () => drive(small, "legacy", "/mcp"),
    "propylon A2A 1.0": () => drive(small, "a2a"),
    "propylon contract v1": () => drive(small, "contract"),
    "propylon A2A 1.0, 300 servers": () => drive(large, "a2a"),
    "propylon contract v1, 300 servers": () => drive(large, "contract"),
  });
  const compare = (name, cell, floor) => bench.ratio(name, samples[cell], samples[floor], "cpu");
  compare("a2a_send_cpu", "propylon A2A 1.0", "propylon MCP");
  compare("contract_send_cpu", "propylon contract v1", "propylon MCP");
  compare("a2a_growth_cpu", "propylon A2A 1.0, 300 servers", "propylon A2A 1.0");
  compare("contract_growth_cpu", "propylon contract v1, 300 servers", "propylon contract v1");
  await bench.release([upstream, small, large]);
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
