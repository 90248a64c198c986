/**
 * Gateways of others: how each is installed, how it is started in front of the upstream, and how the echo tool is called there.
 * Versions are pinned where one is known, and the report has the one that ran.
 */
import { byHand, go, npm, pip } from "./installs.mjs";
import { FORGE_ADMIN, forgeSettings, registerWithForge } from "./forge.mjs";

const LOOPBACK = "127.0.0.1";

/**
 * `http` is a gateway in front of an HTTP server: `start` gives its arguments, files and environment, `call` how the load generator
 * reaches the echo tool, and `furnish` what remains to be done once it listens. `stdio` gives the arguments in front of a command.
 */
export const PEERS = {
  "TBXark mcp-proxy": {
    install: go("github.com/TBXark/mcp-proxy", "latest", "mcp-proxy"),
    http: {
      start: ({ port, url, file }) => ({
        args: ["--config", file],
        config: {
          mcpProxy: {
            baseURL: `http://${LOOPBACK}:${port}`,
            addr: `${LOOPBACK}:${port}`,
            name: "bench",
            version: "1.0.0",
            type: "streamable-http",
          },
          mcpServers: { upstream: { url, transportType: "streamable-http" } },
        },
      }),
      call: { path: "/upstream/" },
    },
  },
  "mcpproxy-go": {
    install: go("github.com/smart-mcp-proxy/mcpproxy-go/cmd/mcpproxy", "latest", "mcpproxy"),
    http: {
      start: ({ port, url, file, home }) => ({
        args: ["serve", "--config", file],
        config: {
          listen: `${LOOPBACK}:${port}`,
          data_dir: home,
          enable_socket: false,
          quarantine_enabled: false,
          telemetry: { enabled: false },
          mcpServers: [
            {
              name: "upstream",
              url,
              protocol: "streamable-http",
              enabled: true,
              quarantined: false,
            },
          ],
        },
      }),
      call: { tool: "upstream:echo", through: "call_tool_read" },
    },
  },
  agentgateway: {
    install: byHand("BENCH_AGENTGATEWAY", "agentgateway"),
    http: {
      start: ({ port, url, file }) => ({
        args: ["-f", file],
        config: {
          binds: [
            {
              port,
              listeners: [
                {
                  routes: [
                    {
                      backends: [{ mcp: { targets: [{ name: "upstream", mcp: { host: url } }] } }],
                    },
                  ],
                },
              ],
            },
          ],
        },
      }),
    },
  },
  "mcp-hub": {
    install: npm("mcp-hub", "4.2.1"),
    http: {
      start: ({ port, url, file }) => ({
        args: ["--port", String(port), "--config", file],
        config: { mcpServers: { upstream: { url } } },
      }),
      call: { dialect: "hub", path: "/api/servers/tools" },
    },
  },
  "1mcp": {
    install: npm("@1mcp/agent", "latest", "1mcp"),
    http: {
      start: ({ port, url, file }) => ({
        args: ["serve", "--port", String(port), "--host", LOOPBACK, "--config", file],
        config: { mcpServers: { upstream: { type: "streamableHttp", url } } },
      }),
      call: { tool: "upstream_1mcp_echo" },
    },
  },
  mcpo: {
    install: pip("mcpo", "0.0.20", { bounds: ["mcp<2", "fastapi<0.120"] }),
    http: {
      start: ({ port, url, file }) => ({
        args: ["--host", LOOPBACK, "--port", String(port), "--config", file],
        config: { mcpServers: { upstream: { type: "streamable-http", url } } },
      }),
      call: { dialect: "http", path: "/upstream/echo" },
    },
  },
  "FastMCP proxy": {
    install: pip("fastmcp", "4.2.3"),
    http: {
      start: ({ port, url }) => ({
        args: ["run", url, "--transport", "http", "--host", LOOPBACK, "--port", String(port)],
      }),
    },
  },
  ContextForge: {
    install: pip("mcp-contextforge-gateway", "1.0.7", { program: "mcpgateway" }),
    http: {
      start: ({ port, home }) => ({
        args: ["--host", LOOPBACK, "--port", String(port)],
        env: forgeSettings(home),
      }),
      furnish: registerWithForge,
      call: { tool: "upstream-echo", authorization: FORGE_ADMIN },
    },
  },
  "supergateway --stateful": {
    install: npm("supergateway", "4.0.0"),
    stdio: (port, command) => [
      "--port",
      String(port),
      "--stdio",
      command.join(" "),
      "--outputTransport",
      "streamableHttp",
      "--stateful",
      "--logLevel",
      "none",
    ],
  },
  "mcp-proxy": {
    install: npm("mcp-proxy", "6.7.19"),
    stdio: (port, command) => ["--port", String(port), "--", ...command],
  },
};
