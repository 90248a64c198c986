import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { isGatewayError } from "propylon";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

/** Knows no such method; to a notification there is no answer. */
function refuse(res: ServerResponse, body: { id?: string } | undefined): void {
  if (body?.id === undefined) res.writeHead(202).end();
  else rpc(res, body.id, undefined, { code: -32601, message: "Method not found" });
}

/** A server of the old era that forgets its first session once it is asked to, and never answers "hang". */
async function forgetful() {
  const streams: ServerResponse[] = [];
  const hanging: ServerResponse[] = [];
  let sessions = 0;
  let isForgotten = false;
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method === "GET") {
        res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        return void streams.push(res);
      }
      if (body?.method === "initialize") {
        res.setHeader("mcp-session-id", `s${++sessions}`);
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "forgetful", version: "1" },
        });
      }
      const isOld = req.headers["mcp-session-id"] === "s1";
      if (isForgotten && isOld) return void res.writeHead(404).end();
      if (body?.method === "tools/list") return rpc(res, body.id, { tools: [] });
      if (body?.method !== "tools/call") return refuse(res, body);
      if (body.params["name"] === "hang") return void hanging.push(res);
      isForgotten = true;
      if (isOld) return void res.writeHead(404).end();
      return rpc(res, body.id, { content: [] });
    }),
  );
  return { server, streams, hanging };
}

it("a connection that lost its session stays for its calls, and goes when the deadline of the last has passed", async () => {
  const { server, streams, hanging } = await forgetful();
  const { gateway } = await setupGateway({
    config: {
      servers: { forgetful: { url: server.url, ping: 0 } },
      timeouts: { default: "30s" },
    },
    client: false,
  });
  const hang = gateway
    .call({ server: "forgetful", name: "hang", timeout: 6_000 })
    .catch((error: unknown) => isGatewayError(error) && error.code);
  await expect.poll(() => hanging.length).toBe(1);
  expect(streams.length).toBe(1);
  let isGone = false;
  const gone = once(streams[0]!, "close").then(() => (isGone = true));
  const { result } = await gateway.call({ server: "forgetful", name: "echo" });
  expect(result).toMatchObject({ content: [] });
  expect(isGone).toBe(false);
  expect(await hang).toBe("timeout");
  await gone;
});
