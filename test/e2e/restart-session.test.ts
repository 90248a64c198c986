import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pino } from "pino";
import { definePlugin, createGateway } from "propylon";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";

const echo = definePlugin({
  name: "echo",
  setup: (gateway) => gateway.tool("echo", { description: "Says it.", run: () => "here" }),
});

/** Starts a gateway on a port; the return value ends it as a restart would. */
async function start(port: number): Promise<() => Promise<void>> {
  const gateway = await createGateway(
    { listeners: { main: { port } }, plugins: { echo: {} } },
    { log: pino({ level: "silent" }), plugins: { echo } },
  );
  await gateway.listen();
  const close = (): Promise<void> => gateway.close({ grace: 0 });
  onTestFinished(close);
  return close;
}

const INFO = { name: "kept", version: "1.0.0" };
const CLIENTS = {
  "1.x": (url: URL) => ({ client: new OldClient(INFO), transport: new OldTransport(url) }),
  "2.x": (url: URL) => ({ client: new NewClient(INFO), transport: new NewTransport(url) }),
};

it.each(["1.x", "2.x"] as const)(
  "a client of SDK %s that kept its session over a restart learns that it is gone, and initialize opens another",
  async (sdk) => {
    const port = await freePort();
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    const connect = async () => {
      const { client, transport } = CLIENTS[sdk](url);
      await client.connect(transport);
      onTestFinished(() => client.close());
      return client;
    };
    const stop = await start(port);
    const kept = await connect();
    const call = { name: "echo", arguments: {} };
    expect(await kept.callTool(call)).toMatchObject({ content: [{ text: "here" }] });
    await stop();
    await start(port);
    const error = await kept.callTool(call).catch((thrown: unknown) => thrown);
    // Version 2 has the status beside its own code.
    expect(error).toMatchObject(sdk === "1.x" ? { code: 404 } : { data: { status: 404 } });
    expect((error as Error).message).toContain("Session terminated");
    const again = await connect();
    expect(await again.callTool(call)).toMatchObject({ content: [{ text: "here" }] });
  },
);

it("the refusal of an unknown session is the error that Python clients make of it themselves", async () => {
  const port = await freePort();
  await start(port);
  const url = `http://127.0.0.1:${port}/mcp`;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-session-id": "of-yesterday",
    "mcp-protocol-version": "2025-11-25",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" });
  const answer = await fetch(url, { method: "POST", headers, body });
  expect(answer.status).toBe(404);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(await answer.json()).toEqual({
    jsonrpc: "2.0",
    id: 7,
    error: {
      code: -32600,
      message: "Session terminated",
      data: { reason: "Session not found: send initialize again." },
    },
  });
  for (const method of ["GET", "DELETE"])
    expect((await fetch(url, { method, headers: { ...headers } })).status).toBe(404);
});
