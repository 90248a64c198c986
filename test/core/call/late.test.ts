import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "late", version: "1" },
  },
});

it("an initialize whose body comes after a reload took its endpoint away opens no session there", async () => {
  const config = { listeners: { main: { port: 0 } }, endpoints: { a: { path: "/a" } } };
  const { gateway, url } = await setupGateway({ config, client: false });
  const opened: string[] = [];
  gateway.hook("session:open", (endpoint) => void opened.push(endpoint));
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": INITIALIZE.length,
  };
  const late = request(`${url}/a`, { method: "POST", headers });
  const answer = new Promise<IncomingMessage>((resolve) => late.once("response", resolve));
  late.write(INITIALIZE.slice(0, 20));
  // The head has arrived when a request that was sent after it is answered.
  await new Promise<void>((resolve) =>
    late.once("socket", (socket) => socket.once("connect", resolve)),
  );
  await fetch(`${url}/livez`);
  await gateway.apply({ ...config, endpoints: { b: { path: "/b" } } });
  late.end(INITIALIZE.slice(20));
  const { statusCode, headers: answered } = await answer;
  expect(statusCode).toBe(404);
  expect(answered["mcp-session-id"]).toBeUndefined();
  expect(opened).toEqual([]);
});
