import type { IncomingMessage, ServerResponse } from "node:http";
import type { ListenerApp } from "./app.ts";

let adapter: typeof import("srvx/node") | undefined;

/**
 * Serves one request through a web `fetch` function: the routes of the plugins.
 * Rejects with what `fetch` threw or what went wrong while its answer was streamed.
 */
export async function serveWeb(
  req: IncomingMessage,
  res: ServerResponse,
  fetch: ListenerApp["fetch"],
): Promise<void> {
  res.setHeader("x-content-type-options", "nosniff");
  // Loaded with the first request: MCP alone needs neither it nor the web classes of Node that it touches.
  adapter ??= await import("srvx/node");
  const { NodeRequest, sendNodeResponse } = adapter;
  await sendNodeResponse(res, await fetch(new NodeRequest({ req, res })));
}
