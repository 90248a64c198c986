import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as McpServer } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { freePort } from "../kit/port.ts";
import type { Json, Tool } from "../kit/types.ts";
import { pause } from "../kit/timers.ts";

/** A tool of a {@link FakeUpstream}. */
export interface FakeTool {
  readonly description?: string;
  /** JSON Schema of its arguments; default: any object. */
  readonly input?: Tool["inputSchema"];
  /**
   * Answers a call with text or a whole MCP result. A throw is an `isError` result with its message; an `McpError` of the SDK is
   * that JSON-RPC error.
   */
  run(args: Json, signal: AbortSignal): FakeAnswer | Promise<FakeAnswer>;
}

/** What a fake tool answers. */
export type FakeAnswer = string | CallToolResult;

/** What an upstream was asked: a call of one of its tools. */
export interface FakeCall {
  readonly tool: string;
  readonly args: Json;
  /** `_meta` of the call, e.g. the trace context. */
  readonly meta: Json | undefined;
  /** Of the HTTP request that brought it, lower case. */
  readonly headers: IncomingMessage["headers"];
}

/** An MCP server under the control of a test. */
export interface FakeUpstream {
  /** For the config: `servers: { shop: { url } }`. */
  readonly url: string;
  /** Calls so far, in the order of their arrival. */
  readonly calls: readonly FakeCall[];
  /** How long every answer to a call is held back, in milliseconds. Default 0. */
  delay: number;
  /** Goes away as a crashed server does: open connections are cut, new ones refused. */
  stop(): Promise<void>;
  /** Comes back at the same URL. */
  start(): Promise<void>;
}

/**
 * Starts a real MCP server over HTTP on a free port of 127.0.0.1, by the official SDK 1.x, which nearly every server uses. It
 * stops when the running test ends.
 *
 * @param tools by name; a function is a tool that takes anything
 * @example
 * const shop = await fakeUpstream({ price: ({ item }) => `${item}: 3 EUR` });
 * const { client } = await setupGateway({ config: { servers: { shop: { url: shop.url } } } });
 */
export async function fakeUpstream(
  tools: Readonly<Record<string, FakeTool | FakeTool["run"]>>,
): Promise<FakeUpstream> {
  const calls: FakeCall[] = [];
  const upstream = { delay: 0 };
  const all = Object.entries(tools).map(([name, tool]) => ({
    name,
    ...(typeof tool === "function" ? { run: tool } : tool),
  }));
  const call = async (
    { headers }: IncomingMessage,
    { name, args, meta, signal }: Wanted,
  ): Promise<CallToolResult> => {
    calls.push({ tool: name, args, meta, headers });
    if (upstream.delay > 0) await pause(upstream.delay, signal);
    signal.throwIfAborted();
    const tool = all.find((each) => each.name === name);
    if (!tool) throw new Error(`There is no tool "${name}".`);
    return resultOf(await tool.run(args, signal));
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(
      request,
      response,
      createMcp(all, (wanted) => call(request, wanted)),
    );
  const server = createServer(serve);
  const port = await freePort();
  await listen(server, port);
  const stop = (): Promise<void> => close(server);
  onTestFinished(stop);
  return Object.assign(upstream, {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    stop,
    start: () => listen(server, port),
  });
}

/** A call as it arrives. */
interface Wanted {
  readonly name: string;
  readonly args: Json;
  readonly meta: Json | undefined;
  readonly signal: AbortSignal;
}

function failureOf(error: unknown): CallToolResult {
  if (error instanceof McpError) throw error;
  const text = error instanceof Error ? error.message : "failed";
  return { isError: true, content: [{ type: "text", text }] };
}

/** One server per request: without sessions none remembers anything. */
function createMcp(
  tools: readonly (FakeTool & { readonly name: string })[],
  call: (wanted: Wanted) => Promise<CallToolResult>,
): McpServer {
  const server = new McpServer(
    { name: "fake-upstream", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, input }) => ({
      name,
      ...(description !== undefined && { description }),
      inputSchema: { type: "object" as const, ...input },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const { name, arguments: args = {}, _meta: meta } = params;
    return call({ name, args, meta, signal }).catch(failureOf);
  });
  return server;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  server: McpServer,
): Promise<void> {
  // Without sessions there is nothing to hear about: a client that asks for a stream is told so.
  if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
  const transport = new StreamableHTTPServerTransport({});
  response.on("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

function resultOf(answered: FakeAnswer): CallToolResult {
  return typeof answered === "string" ? { content: [{ type: "text", text: answered }] } : answered;
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
