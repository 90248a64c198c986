/** The same call as in `relay`, made over plain HTTP: POST /{server}/{tool} of the plugin openapi. */
export async function http(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const proxy = await bench.target("proxy", { upstream: new URL(url).origin });
  const gateway = await bench.gateway({ servers: { upstream: { url } }, plugins: { openapi: {} } });
  const drive = (target, dialect, path) =>
    bench.drive(target, { dialect, call: "echo", connections: 16, path });
  const samples = await bench.interleave("tool over HTTP, 16 connections", {
    "raw proxy": () => drive(proxy, "raw", "/mcp"),
    "propylon MCP": () => drive(gateway, "legacy", "/mcp"),
    "propylon HTTP": () => drive(gateway, "http", "/upstream/echo"),
  });
  bench.ratio("http_tool_cpu", samples["propylon HTTP"], samples["raw proxy"], "cpu");
  await bench.release([upstream, proxy, gateway]);
}
