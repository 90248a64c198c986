import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";

/** A server over stdio that asks, withdraws its question, sends users to a URL, and tells when they are done there. */
const SERVER = `
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const TOOLS = ["ask", "withdraw", "visit", "finish"];
const SAID = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: TOOLS.map((name) => ({ name, inputSchema: { type: "object" } })) },
};
let asking;
const TOOL = {
  ask(id) {
    asking = id;
    const params = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
    say({ id: "question", method: "elicitation/create", params });
  },
  withdraw(id) {
    say({ method: "notifications/cancelled", params: { requestId: "question" } });
    say({ id: asking, result: { content: [] } });
    say({ id, result: { content: [] } });
  },
  visit(id) {
    const elicitations = [{ mode: "url", elicitationId: "e1", url: "https://example.com/", message: "Go" }];
    say({ id, error: { code: -32042, message: "Visit first.", data: { elicitations } } });
  },
  finish(id) {
    say({ method: "notifications/elicitation/complete", params: { elicitationId: "e1" } });
    say({ id, result: { content: [] } });
  },
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, error } = JSON.parse(line);
  if (id === "question") return say({ method: "notifications/message", params: { level: "error", data: "answered" } });
  if (id === undefined) return;
  if (method === "server/discover") return say({ id, error: { code: -32601, message: "no" } });
  if (method !== "tools/call") return say({ id, result: SAID[method] ?? {} });
  TOOL[params.name](id);
});`;

async function twoClients(): Promise<[Client, Client]> {
  const { gateway } = await setupGateway({
    config: {
      servers: { child: { command: process.execPath, args: ["-e", SERVER] } },
      endpoints: { mcp: { naming: "none" } },
    },
    client: false,
  });
  const connect = async (): Promise<Client> => {
    const capabilities = { elicitation: { form: {}, url: {} } };
    const client = await connectClient(gateway.endpoints[0]!.url, { capabilities });
    onTestFinished(() => client.close());
    return client;
  };
  return [await connect(), await connect()];
}

it("a question that its server withdraws is withdrawn at the client that has it", async () => {
  const [client] = await twoClients();
  const { promise: asked, resolve: seen } = deferred();
  const withdrawn = new Promise<void>((resolve) =>
    client.setRequestHandler(ElicitRequestSchema, (_request, { signal }) => {
      seen();
      return new Promise((answer) =>
        signal.addEventListener("abort", () => {
          resolve();
          answer({ action: "cancel" });
        }),
      );
    }),
  );
  const call = client.callTool({ name: "ask" });
  await asked;
  await client.callTool({ name: "withdraw" });
  await withdrawn;
  expect(await call).toMatchObject({ content: [] });
});

it("T5: the end of a visit is told to the client whose user was sent there, after its call, and to no other", async () => {
  const [ann, ben] = await twoClients();
  const told: string[] = [];
  for (const [name, client] of Object.entries({ ann, ben }))
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
      told.push(`${name} ${params.elicitationId}`);
    });
  // The stream beside the calls may open a moment later than the session.
  await expect
    .poll(async () => {
      await expect(ann.callTool({ name: "visit" })).rejects.toMatchObject({ code: -32042 });
      await ben.callTool({ name: "finish" });
      return told;
    })
    .toContain("ann e1");
  await ben.callTool({ name: "finish" });
  expect(told.filter((line) => line.startsWith("ben"))).toEqual([]);
});
