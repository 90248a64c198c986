import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer as createHttps } from "node:https";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { expect, onTestFinished } from "vitest";
import { connectClient, freePort } from "../../../core/testing/index.ts";
import type { HealthReport, ServerHealth } from "../../../plugins/health/service.ts";
import { makeAuthority } from "../../fixtures/certificate.ts";
import { rpc, serveHttp, type Handler, type Running } from "../servers/support/servers.ts";

/** The probes of the gateway, told from its connections: they declare no capabilities. */
interface Probes {
  opened: number;
  inFlight: number;
  atOnce: number;
}

/** A legacy MCP server that can be made to misbehave, and made well again. */
export interface Patient extends Running {
  readonly probes: Probes;
  /** Sessions that were opened and not ended. */
  readonly sessions: Set<string>;
  /** Answers every request this way from now on; `undefined`: as a server should. */
  behave(handler: Handler | undefined): void;
}

/** Starts one; `delay` is what it takes to answer `initialize`, in milliseconds. */
export async function servePatient({ delay = 0, stream = false } = {}): Promise<Patient> {
  const probes: Probes = { opened: 0, inFlight: 0, atOnce: 0 };
  const sessions = new Set<string>();
  let behaviour: Handler | undefined;
  const running = await serveHttp(async (req, res, body) => {
    if (behaviour) return behaviour(req, res, body);
    if (req.method === "GET") return void res.writeHead(405).end();
    if (req.method === "DELETE") {
      sessions.delete(String(req.headers["mcp-session-id"]));
      return void res.writeHead(200).end();
    }
    if (body.id === undefined) return void res.writeHead(202).end();
    if (body.method === "ping") return rpc(res, body.id, {});
    if (body.method !== "initialize")
      return rpc(res, body.id, undefined, { code: -32601, message: "Method not found" });
    const isProbe = Object.keys(body.params["capabilities"] as object).length === 0;
    if (isProbe) {
      probes.opened++;
      probes.atOnce = Math.max(probes.atOnce, ++probes.inFlight);
      res.once("close", () => probes.inFlight--);
    }
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    const session = randomUUID();
    sessions.add(session);
    res.setHeader("mcp-session-id", session);
    const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };
    if (!stream) return rpc(res, body.id, result);
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: body.id, result })}\n\n`);
  });
  onTestFinished(() => running.close());
  return { ...running, probes, sessions, behave: (handler) => (behaviour = handler) };
}

/** A socket that accepts connections and never says a word. */
export interface BlackHole {
  readonly url: string;
  /** Most probes that waited at once. */
  readonly atOnce: number;
  /** Probes that arrived. */
  readonly probes: number;
}

/** Opens one. */
export async function openBlackHole(): Promise<BlackHole> {
  const hole = { url: "", atOnce: 0, probes: 0 };
  let waiting = 0;
  const server = await listen(
    createServer((socket) => {
      let isProbe = false;
      socket.on("data", (chunk) => {
        if (isProbe || !chunk.toString("latin1").includes('"capabilities":{}')) return;
        isProbe = true;
        hole.probes++;
        hole.atOnce = Math.max(hole.atOnce, ++waiting);
      });
      socket.on("close", () => (waiting -= Number(isProbe)));
    }),
  );
  hole.url = urlOf(server);
  return hole;
}

/** A server that resets every connection as soon as something arrives. */
export async function openResetting(): Promise<string> {
  const reset = (socket: Socket): void => void socket.once("data", () => socket.resetAndDestroy());
  return urlOf(await listen(createServer(reset)));
}

/** The URL of a port on which nothing listens. */
export async function refusingUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/mcp`;
}

/** The server of fixtures that does what its flags say. */
export const SCRIPTED = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);

/** Starts it over HTTP+SSE of 2024-11-05. */
export async function startOldSse(): Promise<string> {
  const child = spawn(process.execPath, [SCRIPTED, "--sse"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill());
  for await (const line of createInterface({ input: child.stdout }))
    return (JSON.parse(line) as { url: string }).url;
  throw new Error("the server did not start");
}

/** An HTTPS server with a certificate that nobody vouches for. */
export async function openSelfSigned(): Promise<string> {
  const options = makeAuthority({ name: "localhost" });
  const server = await listen(createHttps(options, (_req, res) => void res.end()));
  return urlOf(server).replace("http:", "https:");
}

async function listen<T extends Server>(server: T): Promise<T> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A client of an agent's endpoint, closed when the test ends. */
export async function clientOf(url: string): Promise<Client> {
  const client = await connectClient(url);
  onTestFinished(() => client.close());
  return client;
}

/** Calls `get_health` without `arguments`, and checks what every answer must be (P048-P052). */
export async function askHealth(client: Client): Promise<HealthReport> {
  const result = await client.callTool({ name: "get_health" });
  expect(result.isError ?? false).toBe(false);
  expect(result).not.toHaveProperty("structuredContent");
  expect(result.content).toEqual([{ type: "text", text: expect.any(String) }]);
  const report = JSON.parse((result.content as { text: string }[])[0]!.text) as HealthReport;
  expect(["ok", "degraded", "error"]).toContain(report.status);
  expect(new Date(report.timestamp).toISOString()).toBe(report.timestamp);
  if (report.status !== "ok") expect(report.message).toMatch(/\S/);
  return report;
}

/** Body of `GET /_meta/health`. */
export interface Details {
  readonly health: HealthReport;
  readonly agents: Record<string, HealthReport>;
  readonly servers: Record<string, ServerHealth & { connected: boolean; type: string }>;
  readonly models: { agent: string; status: string; message?: string }[];
}

/** Reads it. */
export async function readDetails(url: string): Promise<Details> {
  return (await (await fetch(`${url}/_meta/health`)).json()) as Details;
}
