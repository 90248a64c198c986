import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import type { ListenerApp } from "./app.ts";

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
  await sendNodeResponse(res, await fetch(new NodeRequest({ req, res })));
}
