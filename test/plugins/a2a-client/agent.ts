import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import { AgentCard, formatSSEEvent, SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import {
  DefaultRequestHandler,
  defaultServerCallContextBuilder,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  validateVersion,
  type TaskStore,
} from "@a2a-js/sdk/server";
import { onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { Script } from "./script.ts";

/** What an agent is started with. */
export interface AgentSetup {
  /** Default: `1.0`. */
  readonly dialect?: "1.0" | "0.3";
  /** Default: `JSONRPC`. */
  readonly binding?: "JSONRPC" | "HTTP+JSON";
  /** Default: true. */
  readonly streaming?: boolean;
  readonly port?: number;
  /** Tasks of an agent that was there before. */
  readonly store?: TaskStore;
  readonly script?: Script;
}

/** A request as the agent received it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real agent: the server of `@a2a-js/sdk` behind Node's http. */
export interface TestAgent {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  readonly script: Script;
  readonly store: TaskStore;
  /** The card as it is served; may be replaced. */
  card: Record<string, unknown>;
  /** Cuts all connections that are open now. */
  drop(): void;
  /** Ends it with all of its connections. */
  kill(): Promise<void>;
  /** Methods of A2A asked so far. */
  asked(): string[];
}

/** Starts an agent; it ends with the test. */
export async function startAgent(setup: AgentSetup = {}): Promise<TestAgent> {
  const { port = await freePort(), script = new Script(), store = new InMemoryTaskStore() } = setup;
  const received: Received[] = [];
  const server = createServer();
  await listen(server, port);
  const url = `http://127.0.0.1:${port}`;
  const agent: TestAgent = {
    url,
    port,
    received,
    script,
    store,
    card: cardOf(url, setup),
    drop: () => server.closeAllConnections(),
    kill: () => close(server),
    asked: () => received.map(methodOf).filter((method) => method !== ""),
  };
  const handle = handlerOf(agent, setup);
  server.on("request", (req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const { method = "", url: path = "", headers } = req;
      const request = { method, url: path, headers, body: Buffer.concat(chunks).toString() };
      received.push(request);
      handle(request, res).catch((error: unknown) => {
        if (!res.headersSent) res.writeHead(500, { "content-type": "application/json" });
        res.end(JSON.stringify({ error: { code: 500, message: String(error) } }));
      });
    });
  });
  onTestFinished(() => agent.kill());
  return agent;
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

function methodOf({ url, body }: Received): string {
  const match = /"method":"([^"]+)"/.exec(body);
  if (match) return match[1]!;
  return url.startsWith("/.well-known") ? "" : url;
}

const SKILLS = [
  { id: "talk", name: "Talk", description: "Talks.", tags: ["talk"], examples: ["hello"] },
  { id: "über rechnen/2", name: "Sum", description: "Adds.", tags: [] },
];

function cardOf(url: string, setup: AgentSetup): Record<string, unknown> {
  const { dialect = "1.0", binding = "JSONRPC", streaming = true } = setup;
  const common = {
    name: "scripted",
    description: "Does what it is told.",
    version: "1.2.3",
    capabilities: { streaming },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: SKILLS,
  };
  if (dialect === "0.3")
    return {
      ...common,
      protocolVersion: "0.3.0",
      url: `${url}/rpc`,
      preferredTransport: "JSONRPC",
    };
  const place = binding === "JSONRPC" ? `${url}/rpc` : `${url}/rest`;
  return {
    ...common,
    supportedInterfaces: [{ url: place, protocolBinding: binding, protocolVersion: "1.0" }],
  };
}

type Handler = (request: Received, res: ServerResponse) => Promise<void>;

function handlerOf(agent: TestAgent, { dialect = "1.0", streaming = true }: AgentSetup): Handler {
  const card = AgentCard.fromJSON({
    ...agent.card,
    capabilities: { streaming },
    supportedInterfaces: [
      { url: agent.url, protocolBinding: "JSONRPC", protocolVersion: dialect },
      { url: agent.url, protocolBinding: "HTTP+JSON", protocolVersion: dialect },
    ],
  });
  const handler = new DefaultRequestHandler(card, agent.store, agent.script);
  const rpc =
    dialect === "0.3"
      ? new LegacyJsonRpcTransportHandler(handler)
      : new JsonRpcTransportHandler(handler);
  return async (request, res) => {
    if (request.url === "/.well-known/agent-card.json") return sendCard(agent.card, request, res);
    const requestedVersion = String(request.headers["a2a-version"] ?? "0.3");
    const context = defaultServerCallContextBuilder({
      extensions: undefined,
      user: undefined,
      headers: request.headers,
      requestedVersion,
    });
    validateVersion(requestedVersion, card);
    if (request.url.startsWith("/rest")) return answerRest(handler, request, res, context);
    const answer = await rpc.handle(request.body, context);
    if (Symbol.asyncIterator in answer) await sendEvents(answer, res);
    else send(res, 200, answer);
  };
}

function sendCard(card: unknown, { headers }: Received, res: ServerResponse): void {
  const body = JSON.stringify(card);
  const etag = `"${createHash("sha1").update(body).digest("hex")}"`;
  if (headers["if-none-match"] === etag) return void res.writeHead(304, { etag }).end();
  res.writeHead(200, { "content-type": "application/json", etag }).end(body);
}

type Context = ReturnType<typeof defaultServerCallContextBuilder>;

/** HTTP+JSON, which the SDK serves behind express only. */
async function answerRest(
  handler: DefaultRequestHandler,
  { method, url, body }: Received,
  res: ServerResponse,
  context: Context,
): Promise<void> {
  const [, path = ""] = url.split("/rest");
  const sent = (): SendMessageRequest => SendMessageRequest.fromJSON(JSON.parse(body));
  if (path === "/message:send") {
    const result = await handler.sendMessage(sent(), context);
    return send(res, 200, { task: Task.toJSON(result as Task) });
  }
  const id = /^\/tasks\/([^:?]+)/.exec(path)?.[1] ?? "";
  if (path === "/message:stream")
    return sendEvents(written(handler.sendMessageStream(sent(), context)), res);
  if (path.endsWith(":subscribe"))
    return sendEvents(written(handler.resubscribe({ id, tenant: "" }, context)), res);
  if (path.endsWith(":cancel"))
    return send(res, 200, Task.toJSON(await handler.cancelTask(cancelOf(id), context)));
  if (method === "GET")
    return send(res, 200, Task.toJSON(await handler.getTask({ id, tenant: "" }, context)));
  return send(res, 404, { error: { code: 404, message: "unknown" } });
}

function cancelOf(id: string) {
  return { id, tenant: "", metadata: undefined };
}

async function* written(events: AsyncIterable<StreamResponse>): AsyncIterable<unknown> {
  for await (const event of events) yield StreamResponse.toJSON(event);
}

async function sendEvents(events: AsyncIterable<unknown>, res: ServerResponse): Promise<void> {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for await (const event of events) res.write(formatSSEEvent(event));
  res.end();
}

function send(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
