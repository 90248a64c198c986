import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer as OldServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  createMcpHandler,
  McpServer as NewServer,
  type McpHttpHandler,
} from "@modelcontextprotocol/server";
import { freePort } from "../../../../core/testing/index.ts";

/** A listening server. */
export interface Running {
  readonly url: string;
  readonly port: number;
  /** Requests seen: method, headers and parsed body. */
  readonly requests: { method: string; headers: IncomingMessage["headers"]; body: unknown }[];
  close(): Promise<void>;
}

export type Handler = (
  req: IncomingMessage,
  res: ServerResponse,
  body: { id: string; method: string; params: Record<string, unknown> },
) => void | Promise<void>;

/** Answers a request with JSON. */
export function rpc(res: ServerResponse, id: string, result: unknown, error?: unknown): void {
  res.writeHead(200, { "content-type": "application/json" });
  res.end(
    JSON.stringify(
      error === undefined ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error },
    ),
  );
}

/**
 * A plain HTTP server whose handler gets the parsed body. Its port stays free when it closes: tests look for nobody there, or
 * start the next one on it.
 */
export async function serveHttp(handler: Handler, given?: number): Promise<Running> {
  const port = given ?? (await freePort());
  const requests: Running["requests"] = [];
  const server: Server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const body = text === "" ? undefined : JSON.parse(text);
      requests.push({ method: req.method!, headers: req.headers, body });
      void handler(req, res, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A legacy server on the 1.x SDK, with a session per client. `setup` registers on each session's server. */
export async function serveOld(
  setup: (server: OldServer) => void,
  port?: number,
): Promise<Running & { readonly servers: OldServer[] }> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const servers: OldServer[] = [];
  const running = await serveHttp(async (req, res, body) => {
    const id = req.headers["mcp-session-id"];
    let transport = typeof id === "string" ? transports.get(id) : undefined;
    if (id !== undefined && !transport) {
      res.writeHead(404, { "content-type": "application/json" });
      res.end(
        JSON.stringify({
          jsonrpc: "2.0",
          id: null,
          error: { code: -32001, message: "Session not found" },
        }),
      );
      return;
    }
    if (!transport) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void transports.set(session, opened),
      });
      transport = opened;
      const server = new OldServer(
        { name: "old", version: "1.0.0" },
        { capabilities: { logging: {} } },
      );
      setup(server);
      servers.push(server);
      await server.connect(transport);
    }
    await transport.handleRequest(req, res, body);
  }, port);
  return { ...running, servers };
}

/** A server on the 2.x SDK that speaks only the modern era, or both. */
export async function serveNew(
  setup: (server: NewServer) => void,
  legacy: "reject" | "stateless" = "reject",
  port?: number,
): Promise<Running & { readonly handler: McpHttpHandler }> {
  const handler = createMcpHandler(
    () => {
      const server = new NewServer(
        { name: "new", version: "1.0.0" },
        {
          capabilities: {
            tools: { listChanged: true },
            resources: { subscribe: true, listChanged: true },
          },
        },
      );
      setup(server);
      return server;
    },
    { legacy },
  );
  const running = await serveHttp(async (req, res, body) => {
    const abort = new AbortController();
    res.on("close", () => abort.abort());
    const request = new Request(`http://${req.headers.host}${req.url}`, {
      method: req.method!,
      headers: req.headers as Record<string, string>,
      signal: abort.signal,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await handler.fetch(request);
    res.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) for await (const chunk of response.body) res.write(chunk);
    res.end();
  }, port);
  return { ...running, handler };
}
