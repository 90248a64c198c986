import type { IncomingMessage, ServerResponse } from "node:http";
import type { ListenerApp } from "./app.ts";
import { discard } from "./http-messages.ts";

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
  try {
    const answer = await fetch(new NodeRequest({ req, res }));
    await sendNodeResponse(res, takeCookies(res, answer));
  } finally {
    dropRest(req);
  }
}

/** Beside headers that were set before, Node 20 sends only the last of several of one name. A copy, as those of `fetch()` cannot change. */
function takeCookies(res: ServerResponse, answer: Response): Response {
  const cookies = answer.headers.getSetCookie();
  if (cookies.length < 2) return answer;
  const rest = new Response(answer.body, answer);
  rest.headers.delete("set-cookie");
  res.setHeader("set-cookie", cookies);
  return rest;
}

/** What a route leaves unread of a body is thrown away, or the next request on the connection would never be read. */
function dropRest(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  // A web stream made of the request has paused it and would go on queueing.
  req.removeAllListeners("data");
  discard(req);
  req.resume();
}

/** Leaves a body where the adapter looks for what was read before. One that failed shows when somebody asks for it. */
export function keepBody(req: IncomingMessage, body: Buffer | Error): void {
  Object.defineProperty(req, "rawBody", {
    get() {
      if (body instanceof Error) throw body;
      return body;
    },
  });
}
