/** A gateway as a process of its own: the built command line with a config, which can be rewritten and restarted on its port. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../../dist/plugins/cli.js", import.meta.url));
/** SIGUSR2 collects garbage: what is left of the heap is what the process holds. */
const COLLECTS = ["--expose-gc", "--import", `data:text/javascript,process.on("SIGUSR2",()=>gc())`];
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "campaign", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The tools a client would see, asked for without a session. */
async function listTools(url, key) {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${key}`,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/list",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META } }),
  });
  return (await answer.json()).result?.tools ?? [];
}

/** Waits until every server has its tools there: what is looked at is not how fast they start. */
async function ready(url, key, prefixes) {
  for (let left = 1_200; left > 0; left--) {
    const names = (await listTools(url, key).catch(() => [])).map(({ name }) => name);
    if (
      names.length > 0 &&
      prefixes.every((prefix) => names.some((name) => name.startsWith(prefix)))
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The gateway had no tools at ${url}.`);
}

/**
 * Starts a gateway on a free port and waits for its tools.
 * @param config without listeners
 * @param options `key`: sent as bearer; `expect`: beginnings of tool names that must be there
 */
export async function startGateway(config, { key, expect = [] }) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "propylon-campaign-"));
  const file = join(folder, "gateway.json");
  const origin = `http://127.0.0.1:${port}`;
  const write = (next) =>
    writeFileSync(file, JSON.stringify({ listeners: { main: { port } }, ...next }));
  let child;
  async function start() {
    child = spawn(
      process.execPath,
      [...COLLECTS, CLI, "start", file, "--log-level", process.env.CAMPAIGN_LOG ?? "error"],
      {
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    await ready(`${origin}/mcp`, key, expect);
  }
  async function stop(signal = "SIGTERM") {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, "exit");
    }
  }
  write(config);
  await start();
  return {
    origin,
    url: `${origin}/mcp`,
    get pid() {
      return child.pid;
    },
    write,
    async restart(signal) {
      await stop(signal);
      await start();
    },
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
