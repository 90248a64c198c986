import {
  type Call,
  Answer,
  configSchema,
  type GatewayConfig,
  type GatewayConfigInput,
  GatewayError,
  type Catalogue,
  type Server,
  type ServerStatus,
  type Json,
  type Principal,
  type Tool,
} from "propylon";
import { createPrincipal, type ServerEvent } from "propylon/kit";
import type { Store } from "propylon/store";
import { Backlog } from "../../../core/kit/backlog.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { Leases } from "../../../core/plugin/leases.ts";
import { createServer } from "node:http";
import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import pino from "pino";
import { endpointSchema } from "../../../core/config/schema.ts";
import { Endpoint } from "../../../plugins/mcp/endpoint/endpoint.ts";
import type { EndpointContent, EndpointHost } from "../../../core/plugin/endpoint-server.ts";
import { EMPTY_CATALOGUE } from "../../../core/call/server.ts";

/** Answers a call of a {@link FakeServer}. */
export type Handler = (call: Call) => Answer | Promise<Answer>;

/** A server in the test's own process; everything it is told is on record. */
export class FakeServer implements Server {
  readonly name: string;
  catalogue: Catalogue = { ...EMPTY_CATALOGUE, hash: "1" };
  status: ServerStatus = {
    state: "ready",
    since: "2026-01-01T00:00:00.000Z",
    attempts: 0,
    transport: "stdio",
  };
  readonly handlers = new Map<string, Handler>();
  readonly subscribed: string[] = [];
  readonly levels: (string | undefined)[] = [];
  rootChanges = 0;
  readonly #listeners = new Set<(event: ServerEvent) => void>();

  constructor(name: string, catalogue: Partial<Catalogue> = {}) {
    this.name = name;
    this.catalogue = { ...this.catalogue, ...catalogue };
  }

  /** Adds a tool and its handler. */
  tool(name: string, handler: Handler, extra: Partial<Tool> = {}): this {
    const tool: Tool = { name, inputSchema: { type: "object" }, ...extra };
    this.catalogue = {
      ...this.catalogue,
      tools: [...this.catalogue.tools, tool],
      hash: `${this.catalogue.hash}+${name}`,
    };
    this.handlers.set(name, handler);
    return this;
  }

  /** Answers every other call by its target. */
  on(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  emit(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  async request(call: Call): Promise<Answer> {
    const handler = this.handlers.get(call.name) ?? this.handlers.get("*");
    if (handler === undefined) throw new GatewayError("not_found", `No handler for ${call.name}.`);
    return handler(call);
  }

  async subscribe(uri: string): Promise<void> {
    this.subscribed.push(`+${uri}`);
  }

  async unsubscribe(uri: string): Promise<void> {
    this.subscribed.push(`-${uri}`);
  }

  setLogLevel(level: string | undefined): void {
    this.levels.push(level);
  }

  rootsChanged(): void {
    this.rootChanges++;
  }
}

/** An endpoint on a real socket. */
export interface Served {
  readonly url: URL;
  readonly endpoint: Endpoint;
  readonly host: TestHost;
  readonly servers: FakeServer[];
  /** Requests that have arrived so far. */
  readonly requests: () => number;
  /** Content with these servers and settings, for `endpoint.update`. */
  content(servers: readonly Server[], config?: Partial<EndpointContent["config"]>): EndpointContent;
  /** Connections that are open. */
  readonly sockets: () => number;
  close(): Promise<void>;
  /** Ends it as a kill would: connections break, and nothing is said on them. */
  kill(): Promise<void>;
}

/** The gateway around the endpoint, reduced to what the endpoint needs. */
export interface TestHost extends EndpointHost {
  draining: boolean;
  readonly events: unknown[][];
  readonly calls: Call[];
}

/** The principal is whoever the `x-user` header says, else anonymous. */
function principalOf(req: IncomingMessage): Principal {
  const user = req.headers["x-user"];
  return createPrincipal({
    id: typeof user === "string" ? user : "anonymous",
    kind: "anonymous",
    roles: new Set(["caller"]),
  });
}

/** Starts an endpoint that shows these servers. */
export async function serve(
  servers: FakeServer[],
  options: {
    config?: Partial<EndpointContent["config"]>;
    limits?: GatewayConfigInput["limits"];
    callTimeout?: number;
    /** Default: one in memory. */
    store?: Store;
    /** Default: any. */
    port?: number;
    name?: string;
  } = {},
): Promise<Served> {
  const { callTimeout = 60_000, store, port = 0, name = "main" } = options;
  const parsed = configSchema.parse({ limits: options.limits ?? {} });
  const host = { ...testHost(servers, parsed), callTimeout, ...(store && { store }) };
  const endpoint = new Endpoint(name, host);
  const content: Served["content"] = (shown, config = options.config) => ({
    config: { ...endpointSchema.parse({}), ...config },
    servers: shown,
    selection: new Map(),
    shows: () => true,
  });
  endpoint.update(content(servers));
  let arrived = 0;
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    arrived++;
    endpoint.handle(req, res, principalOf(req));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const requests = (): number => arrived;
  let open = 0;
  server.on("connection", (socket) => {
    open++;
    socket.once("close", () => open--);
  });
  const sockets = (): number => open;
  const close = (): Promise<void> => stop(server, endpoint);
  const kill = async (): Promise<void> => {
    server.closeAllConnections();
    await close();
  };
  return { url, endpoint, host, servers, requests, sockets, content, close, kill };
}

async function stop(server: HttpServer, endpoint: Endpoint): Promise<void> {
  endpoint.close();
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

function testHost(servers: readonly FakeServer[], config: GatewayConfig): TestHost {
  const events: unknown[][] = [];
  const calls: Call[] = [];
  return {
    serverInfo: { name: "test-gateway", version: "1.2.3" },
    log: pino({ level: "silent" }),
    limits: config.limits,
    draining: false,
    callTimeout: 60_000,
    leases: new Leases(),
    backlog: new Backlog(config.limits, () => {}),
    store: GatewayStore.inMemory(pino({ level: "silent" })).scope("mcp"),
    events,
    calls,
    current: {
      async call(call) {
        calls.push(call);
        const server = servers.find(({ name }) => name === call.server);
        if (server === undefined) throw new GatewayError("not_found", `No server ${call.server}.`);
        return server.request(call);
      },
      hold: () => () => {},
      service: () => undefined,
    },
    emit: (...args) => void events.push(args),
  };
}

/** A text result. */
export function text(value: string): Answer {
  return Answer.result({ content: [{ type: "text", text: value }] });
}

/** A connected SDK 1.32 client (legacy era). */
export async function legacyClient(
  url: URL,
  capabilities: Json = {},
  headers: Record<string, string> = {},
): Promise<Client> {
  const client = new Client({ name: "legacy-test", version: "1.0.0" }, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

/** A connected SDK 2.4 client, in the era asked for. */
export async function sdk2Client(
  url: URL,
  era: "legacy" | "modern",
  capabilities: Json = {},
): Promise<ModernClient> {
  const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
  const client = new ModernClient(
    { name: "sdk2-test", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode } },
  );
  await client.connect(new ModernTransport(url));
  return client;
}

/** Posts a legacy message the way a client without SDK would. */
export function post(
  url: URL,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Opens a legacy session by hand and returns its headers. */
export async function openSession(
  url: URL,
  capabilities: Json = {},
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities,
    clientInfo: { name: "raw", version: "1" },
  };
  const response = await post(
    url,
    { jsonrpc: "2.0", id: 0, method: "initialize", params },
    headers,
  );
  await response.json();
  return {
    ...headers,
    "mcp-session-id": response.headers.get("mcp-session-id")!,
    "mcp-protocol-version": "2025-11-25",
  };
}

/** `_meta` of a modern request. */
export function modernMeta(capabilities: Json = {}, more: Json = {}): Json {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    ...more,
  };
}

/** Posts a modern request with matching headers. */
export function postModern(
  url: URL,
  id: number | string,
  method: string,
  params: Json = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const { _meta, ...others } = params;
  const name =
    method === "resources/read"
      ? params["uri"]
      : method === "tools/call" || method === "prompts/get"
        ? params["name"]
        : undefined;
  return post(
    url,
    { jsonrpc: "2.0", id, method, params: { ...others, _meta: _meta ?? modernMeta() } },
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
  );
}
