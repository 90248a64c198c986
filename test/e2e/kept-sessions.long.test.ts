import { PATIENCE } from "../fixtures/ci.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { until } from "../kit/until.ts";

const CLI = fileURLToPath(new URL("../../dist/plugins/cli.js", import.meta.url));
/** Many more in `npm run campaign`. */
const KILLS = Number(process.env["SESSION_KILLS"] ?? 2);
const CLIENTS = 8;

const PLUGIN = (tools: readonly string[]): string => `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "tools",
  setup(gateway) {
    for (const name of ${JSON.stringify(tools)})
      gateway.tool(name, { description: "Says it.", run: () => name });
  },
});
`;

/** A gateway as a process of its own, on one port and one SQLite file. */
class Program {
  readonly url: URL;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  constructor(port: number) {
    // Below the package, so that the plugin finds it.
    this.#folder = mkdtempSync(
      join(fileURLToPath(new URL("../..", import.meta.url)), "node_modules/.kept-"),
    );
    this.url = new URL(`http://127.0.0.1:${port}/mcp`);
    onTestFinished(async () => {
      await this.end("SIGKILL");
      rmSync(this.#folder, { recursive: true, force: true });
    });
    const config = {
      listeners: { main: { port } },
      store: "sqlite:gateway.db",
      plugins: { "./tools.mjs": {} },
    };
    writeFileSync(join(this.#folder, "gateway.json"), JSON.stringify(config));
  }

  async start(...tools: readonly string[]): Promise<void> {
    writeFileSync(join(this.#folder, "tools.mjs"), PLUGIN(tools));
    const args = [CLI, "start", join(this.#folder, "gateway.json"), "--log-level", "error"];
    const child = spawn(...mortal(process.execPath, args), {
      stdio: ["ignore", "inherit", "inherit"],
    });
    this.#child = child;
    const isUp = (): Promise<boolean> =>
      fetch(this.url, { method: "OPTIONS" }).then(Boolean, () => false);
    await until(() => child.exitCode !== null || isUp(), 60_000);
    if (child.exitCode !== null) throw new Error(`The gateway ended with ${child.exitCode}.`);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}

async function connect(url: URL): Promise<Client> {
  const client = new Client({ name: "kept", version: "1" });
  const reconnectionOptions = {
    initialReconnectionDelay: 50,
    maxReconnectionDelay: 200,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 10_000,
  };
  await client.connect(new StreamableHTTPClientTransport(url, { reconnectionOptions }));
  onTestFinished(() => client.close());
  return client;
}

const transportOf = (client: Client): StreamableHTTPClientTransport =>
  client.transport as StreamableHTTPClientTransport;

it(
  `official clients keep their sessions through ${KILLS} kill -9, those that ended theirs have lost it`,
  { timeout: PATIENCE * (60_000 + KILLS * 20_000) },
  async () => {
    const program = new Program(await freePort());
    await program.start("one");
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connect(program.url)));
    const ids = clients.map((client) => transportOf(client).sessionId!);
    expect(new Set(ids).size).toBe(CLIENTS);
    const gone: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      // Confirmed in the last moment before its end.
      const young = await connect(program.url);
      const deleted = await connect(program.url);
      gone.push(transportOf(deleted).sessionId!);
      await transportOf(deleted).terminateSession();
      const lost = clients.map((client) => client.callTool({ name: "one" }).catch(() => {}));
      await program.end("SIGKILL");
      await Promise.all(lost);
      await program.start("one");
      for (const client of [...clients, young])
        expect(await client.callTool({ name: "one" })).toMatchObject({
          content: [{ text: "one" }],
        });
      for (const id of gone) expect(await ping(program.url, id)).toBe(404);
      expect(await ping(program.url, ids[kill % CLIENTS]!)).toBe(200);
    }
    expect(clients.map((client) => transportOf(client).sessionId)).toEqual(ids);
  },
);

async function ping(url: URL, id: string): Promise<number> {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-session-id": id,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const { status } = await fetch(url, { method: "POST", headers, body });
  return status;
}
