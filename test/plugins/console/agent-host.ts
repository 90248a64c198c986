import type { IncomingMessage, ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { serveHttp, type Running } from "../servers/support/servers.ts";
import { entryOf } from "./kit.ts";

type Json = Record<string, unknown>;

/** A call of an agent's tool as it arrived. */
export interface AgentCall {
  /** Of the JSON-RPC request. */
  readonly id: unknown;
  readonly tool: string;
  readonly args: Json | undefined;
  readonly meta: Json | undefined;
  readonly headers: IncomingMessage["headers"];
}

/** Tells of the progress of a call. */
export type Tell = (report: Json) => void;

/** An agent under the control of a test. */
export interface HostedAgent {
  /** What `get_health` says; `hang` never answers anything. */
  health: Json | "hang";
  /** Answers the tool that takes a message. */
  run: (message: string, tell: Tell) => string | Promise<string>;
  readonly calls: AgentCall[];
  /** Ids of requests that were cancelled. */
  readonly cancelled: unknown[];
}

/** Agents and their registry over real HTTP, in one process as Pallas hosts them. */
export interface AgentHost {
  readonly url: string;
  readonly agents: ReadonlyMap<string, HostedAgent>;
  /** Most questions for health that were open at a time. */
  readonly mostAtOnce: () => number;
  /** What it wants as a bearer token; `undefined`: nothing. */
  key: string | undefined;
  /** Where its registry says that the agents are; `undefined`: here. */
  elsewhere: string | undefined;
  /** What it was shown, of every request. */
  readonly shown: readonly (string | undefined)[];
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
}

/** Starts a host; it ends with the running test. */
export async function startHost(names: readonly string[]): Promise<AgentHost> {
  const agents = new Map(names.map((name) => [name, createAgent()]));
  const asked = { now: 0, most: 0 };
  let running: Running | undefined;
  const shown: (string | undefined)[] = [];
  const lock: Pick<AgentHost, "key" | "elsewhere"> = { key: undefined, elsewhere: undefined };
  const serve = async (port?: number): Promise<void> => {
    running = await serveHttp((req, res, body) => {
      const path = req.url!.slice(1);
      const { authorization } = req.headers;
      shown.push(authorization);
      if (path === ".well-known/mcp/server.json")
        return void res.end(documentOf(names, running!.port, lock.elsewhere));
      const agent = agents.get(path);
      if (!agent) return void res.writeHead(404).end();
      if (lock.key !== undefined && authorization !== `Bearer ${lock.key}`)
        return void res.writeHead(401, { "www-authenticate": "Bearer" }).end();
      answer(path, agent, { req, res, body, asked });
    }, port);
  };
  await serve();
  const { port } = running!;
  onTestFinished(() => running!.close());
  return {
    url: `http://127.0.0.1:${port}`,
    agents,
    get key() {
      return lock.key;
    },
    set key(key) {
      lock.key = key;
    },
    get elsewhere() {
      return lock.elsewhere;
    },
    set elsewhere(url) {
      lock.elsewhere = url;
    },
    shown,
    mostAtOnce: () => asked.most,
    stop: () => running!.close(),
    start: () => serve(port),
  };
}

function createAgent(): HostedAgent {
  return {
    health: { status: "ok" },
    run: (message) => `heard ${message}`,
    calls: [],
    cancelled: [],
  };
}

function documentOf(names: readonly string[], port: number, elsewhere?: string): string {
  const base = elsewhere ?? `http://127.0.0.1:${port}`;
  const servers = names.map((name) =>
    entryOf(`ca.helu/${name}`, {
      title: `${name} agent`,
      remotes: [{ type: "streamable-http", url: `${base}/${name}` }],
    }),
  );
  return JSON.stringify({ servers });
}

interface Rpc {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: { name?: string; arguments?: Json; _meta?: Json; requestId?: unknown };
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body: Rpc | undefined;
  readonly asked: { now: number; most: number };
}

const INPUT = {
  type: "object",
  properties: { message: { type: "string" } },
  required: ["message"],
};

function answer(name: string, agent: HostedAgent, { req, res, body, asked }: Exchange): void {
  if (req.method !== "POST" || !body) return void res.writeHead(405, { allow: "POST" }).end();
  if (agent.health === "hang") return;
  const { id, method, params } = body;
  const reply = (result: Json): void => {
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  if (method === "notifications/cancelled") agent.cancelled.push(params?.requestId);
  if (id === undefined) return void res.writeHead(202).end();
  if (method === "initialize")
    return reply({
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name, version: "1" },
    });
  if (method === "tools/list")
    return reply({
      tools: [
        { name, inputSchema: INPUT },
        { name: "get_health", inputSchema: { type: "object" } },
      ],
    });
  if (method !== "tools/call") return refuse(res, id);
  agent.calls.push({
    id,
    tool: params!.name!,
    args: params!.arguments,
    meta: params!._meta,
    headers: req.headers,
  });
  if (params!.name !== "get_health") return void work(agent, { id, params: params!, res });
  asked.most = Math.max(asked.most, ++asked.now);
  // A turn of the loop later, so that questions which come together are open together.
  setImmediate(() => {
    asked.now--;
    reply({ content: [{ type: "text", text: JSON.stringify(agent.health) }] });
  });
}

function refuse(res: ServerResponse, id: unknown): void {
  res.writeHead(200, { "content-type": "application/json" });
  res.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
}

interface Work {
  readonly id: unknown;
  readonly params: NonNullable<Rpc["params"]>;
  readonly res: ServerResponse;
}

async function work(agent: HostedAgent, { id, params, res }: Work): Promise<void> {
  res.writeHead(200, { "content-type": "text/event-stream" });
  const say = (message: Json): void =>
    void res.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  const progressToken = params._meta?.["progressToken"];
  const tell: Tell = (report) =>
    say({ method: "notifications/progress", params: { progressToken, ...report } });
  const text = await agent.run(String(params.arguments?.["message"]), tell);
  say({ id, result: { content: [{ type: "text", text }] } });
  res.end();
}
