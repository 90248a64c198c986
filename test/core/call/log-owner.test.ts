import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { digestOf } from "propylon/kit";
import { expect, it, onTestFinished } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";

/** A server over stdio that logs what it is told, before and after its answer. */
const SERVER = `
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const log = (data) => say({ method: "notifications/message", params: { level: "error", data } });
const SAID = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {}, logging: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "server/discover") return say({ id, error: { code: -32601, message: "no" } });
  if (method !== "tools/call") return say({ id, result: SAID[method] ?? {} });
  log("during " + params.arguments.who);
  say({ id, result: { content: [] } });
  log("after " + params.arguments.who);
});`;

const KEYS = { ann: createKey("caller"), ben: createKey("caller") };

async function gatewayOfTwo() {
  const { gateway } = await setupGateway({
    config: {
      servers: { child: { command: process.execPath, args: ["-e", SERVER] } },
      endpoints: { mcp: { naming: "none" } },
      auth: {
        keys: {
          ann: { role: "caller", hash: `sha256:${digestOf(KEYS.ann)}` },
          ben: { role: "caller", hash: `sha256:${digestOf(KEYS.ben)}` },
        },
      },
    },
    client: false,
  });
  return gateway.endpoints[0]!.url;
}

/** A client that wants to see every log message, and those it was sent. */
async function listener(url: string, who: keyof typeof KEYS) {
  const client = await connectClient(url, { headers: { authorization: `Bearer ${KEYS[who]}` } });
  onTestFinished(() => client.close());
  const heard: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    heard.push(params.data);
  });
  await client.setLoggingLevel("debug");
  const work = () => client.callTool({ name: "work", arguments: { who } });
  return { heard, work };
}

it("T5: a log message that names no call never reaches another principal than the one who called", async () => {
  const url = await gatewayOfTwo();
  const [ann, ben] = [await listener(url, "ann"), await listener(url, "ben")];
  // The stream beside the calls may open a moment later than the session.
  await expect
    .poll(async () => {
      await ann.work();
      return ann.heard;
    })
    .toContain("after ann");
  expect(ann.heard).toContain("during ann");
  expect(ben.heard).toEqual([]);
  const before = ann.heard.length;
  await ben.work();
  await ben.work();
  await ann.work();
  expect(ben.heard).toEqual([]);
  expect(ann.heard.slice(before).filter((data) => data !== "after ann")).toEqual([]);
});
