import { request } from "node:http";
import type { Server, ServerState } from "propylon";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { setupGateway, type GatewaySetup, type TestGateway } from "../../core/testing/index.ts";
import { rpc, serveHttp, serveOld, type Running } from "../plugins/servers/support/servers.ts";

/** A real old server with an `echo` tool; remembers every request with its headers. Closed when the test ends. */
export async function startEcho(port?: number): Promise<Running> {
  const running = await serveOld((server) => {
    server.registerTool(
      "echo",
      { description: "Says it back.", inputSchema: { text: z.string() } },
      ({ text }) => ({
        content: [{ type: "text", text }],
      }),
    );
  }, port);
  onTestFinished(() => running.close());
  return running;
}

/** A server that works until its credentials are revoked, and answers 401 from then on. */
export async function startRevocable(): Promise<Running & { revoke(): void }> {
  let revoked = false;
  const answers: Record<string, object> = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "revocable", version: "1.0.0" },
    },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
  };
  const running = await serveHttp((req, res, body) => {
    if (revoked) res.writeHead(401).end();
    else if (req.method !== "POST") res.writeHead(405).end();
    else if (body.id === undefined) res.writeHead(202).end();
    else
      rpc(
        res,
        body.id,
        answers[body.method],
        answers[body.method] ? undefined : { code: -32601, message: "Method not found" },
      );
  });
  onTestFinished(() => running.close());
  return { ...running, revoke: () => void (revoked = true) };
}

/** Resolves when a server is ready. */
export function whenReady(server: Server): Promise<void> {
  return whenState(server, "ready");
}

/** Resolves when a server is in a state. */
export function whenState(server: Server, state: ServerState): Promise<void> {
  return new Promise((resolve) => {
    const check = (): boolean => server.status.state === state;
    if (check()) return resolve();
    const stop = server.on(() => {
      if (!check()) return;
      stop();
      resolve();
    });
  });
}

/** A gateway whose servers have all answered. */
export async function startGateway(setup: GatewaySetup): Promise<TestGateway> {
  const started = await setupGateway(setup);
  await Promise.all([...started.gateway.servers.values()].map(whenReady));
  return started;
}

export interface RawReply {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** One request with exactly these headers, `host` included. */
export function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<RawReply> {
  const { method = "GET", headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("end", () =>
        resolve({
          status: res.statusCode!,
          headers: res.headers,
          text: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
