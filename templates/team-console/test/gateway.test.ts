import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definePlugin } from "propylon";
import { setupGateway } from "propylon/testing";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";

const key = "a-key-for-the-test-only";
const isReadOnly = readFileSync("gateway.yaml", "utf8").includes("management: { readOnly: true }");

/** The gateway as it is deployed, with a store of its own. */
async function start() {
  const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const environment = {
    GATEWAY_KEY: key,
    SECRET_KEY: "what-seals-secrets-in-this-test-only",
    STORE: `sqlite:${join(folder, "gateway.db")}`,
    SWITCHES: join(folder, "switches.json"),
  };
  return setupGateway({ file: "gateway.yaml", environment });
}

/** An agent that repeats what it hears, and the registry of its host. */
async function startHost(): Promise<string> {
  const agent = definePlugin({
    name: "parrot",
    setup(gateway) {
      gateway.tool("parrot", {
        description: "Repeats what it hears.",
        input: z.object({ message: z.string() }),
        run: ({ message }) => `heard ${message}`,
      });
      gateway.tool("get_health", {
        description: "Says how it is.",
        run: () => JSON.stringify({ status: "ok" }),
      });
    },
  });
  const { url } = await setupGateway({ plugins: [agent], client: false });
  const remotes = [{ type: "streamable-http", url: `${url}/mcp` }];
  const document = {
    servers: [{ server: { name: "com.example/parrot", title: "Parrot", remotes } }],
  };
  const registry = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(document));
  });
  await new Promise<void>((done) => registry.listen(0, "127.0.0.1", done));
  onTestFinished(() => void registry.close());
  return `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
}

it.skipIf(isReadOnly)(
  "registers a host, attaches it to a workspace and talks to its agent",
  async () => {
    const { url, client } = await start();
    const ask = (method: string, path: string, body: object): Promise<Response> =>
      fetch(`${url}/api/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const host = await startHost();
    const made = await ask("POST", "instances", { registry_url: host, name: "Birds" });
    const { id, agents } = (await made.json()) as { id: string; agents: [{ id: string }] };
    await ask("POST", "workspaces", { id: "ws_zoo", name: "Zoo" });
    expect((await ask("PUT", "workspaces/ws_zoo/teams", { teams: [id] })).status).toBe(200);
    const turn = { agent: agents[0].id, message: "hello" };
    const answer = await ask("POST", "workspaces/ws_zoo/chat", turn);
    expect(await answer.text()).toContain("heard hello");
    const changes = await client.callTool({ name: "recent_changes", arguments: {} });
    expect(JSON.stringify(changes)).toContain("workspaces");
  },
);

it.runIf(isReadOnly)("lets nobody change anything", async () => {
  const { url } = await start();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Birds" });
  const { status } = await fetch(`${url}/api/v1/instances`, { method: "POST", headers, body });
  expect(status).toBe(403);
});

it("shows its pages to everybody, and what they are about to nobody without the key", async () => {
  const { url } = await start();
  expect(await (await fetch(`${url}/ui/`)).text()).toContain("<!doctype html>");
  expect((await fetch(`${url}/api/v1/instances`)).status).toBe(401);
  expect((await fetch(`${url}/changes`)).status).toBe(401);
});
