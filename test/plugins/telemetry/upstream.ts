import { onTestFinished } from "vitest";
import type { Json } from "../../../core/index.ts";
import { rpc, serveHttp, type Running } from "../../core/upstream/support/servers.ts";

/** A legacy MCP server with the tools `t` and `broken`; it records what it is sent. */
export async function serveUpstream(): Promise<Running> {
  const server = await serveHttp((req, res, body) => {
    if (req.method === "GET") return void res.writeHead(405).end();
    const { id, method, params } = body;
    if (id === undefined) return void res.writeHead(202).end();
    const info = { capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
    const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
    const content = [{ type: "text", text: "seen" }];
    if (method === "initialize") rpc(res, id, { protocolVersion: "2025-11-25", ...info });
    else if (method === "tools/list") rpc(res, id, { tools: [tool("t"), tool("broken")] });
    else if (method === "tools/call" && params["name"] === "t") rpc(res, id, { content });
    else rpc(res, id, undefined, { code: -32050, message: "my-secret" });
  });
  onTestFinished(() => server.close());
  return server;
}

/** The trace context of the calls that a server was sent, from their headers and from their `_meta`. */
export function tracesOf({ requests }: Running): readonly { header: unknown; meta: unknown }[] {
  return requests.flatMap(({ headers, body }) => {
    const { method, params } = (body ?? {}) as { method?: string; params?: { _meta?: Json } };
    if (method !== "tools/call") return [];
    return [{ header: headers["traceparent"], meta: params?._meta?.["traceparent"] }];
  });
}
