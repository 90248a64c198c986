import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

type Json = Record<string, unknown>;

/** A hostile peer of a gateway: MCP server, model, API, host of documents. What it was not told to say it answers rightly. */
export class Foe {
  readonly url: string;
  readonly #server: Server;
  /** By path, or by MCP method. */
  readonly #said = new Map<string, { readonly words: Buffer; readonly type: string }>();

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (req, res) => void this.#answer(req, res));
  }

  static async start(): Promise<Foe> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Foe(server);
  }

  /** From now on this is what it answers. @param key a path, or an MCP method; `%ID%` in the words is the id of the request */
  say(key: string, words: Buffer | undefined, type = "application/json"): void {
    if (words) this.#said.set(key, { words, type });
    else this.#said.delete(key);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on("error", () => undefined);
    const { pathname } = new URL(req.url!, this.url);
    const body = await buffer(req).catch(() => Buffer.alloc(0));
    if (pathname === "/mcp") return this.#speak(req, body, res);
    const said =
      this.#said.get(pathname) ?? (pathname === PROVIDER ? metadataOf(this.url) : undefined);
    if (pathname === "/guarded") return void res.writeHead(401, CHALLENGE).end();
    const { words, type } = said ?? DOCUMENTS[pathname] ?? NOTHING;
    res.writeHead(words.length === 0 ? 404 : 200, { "content-type": type });
    res.end(withId(words, idOf(body)));
  }

  #speak(req: IncomingMessage, body: Buffer, res: ServerResponse): void {
    if (req.method !== "POST") return void res.writeHead(405).end();
    const { id, method } = JSON.parse(body.toString()) as { id?: unknown; method?: string };
    if (id === undefined || !method) return void res.writeHead(202).end();
    const said = this.#said.get(method);
    res.writeHead(200, { "content-type": said?.type ?? "application/json" });
    if (!said) return void res.end(JSON.stringify({ jsonrpc: "2.0", id, ...answerTo(method) }));
    res.end(withId(said.words, id));
  }
}

/** Metadata of a login provider, whose address only it knows. */
function metadataOf(url: string): { readonly words: Buffer; readonly type: string } {
  return toDocument({
    issuer: `${url}/provider`,
    authorization_endpoint: `${url}/provider/authorize`,
    token_endpoint: `${url}/provider/token`,
    jwks_uri: `${url}/provider/keys`,
    code_challenge_methods_supported: ["S256"],
  });
}

const PROVIDER = "/provider/.well-known/openid-configuration";
const CHALLENGE = { "www-authenticate": 'Bearer realm="guarded"' };
const NOTHING = { words: Buffer.alloc(0), type: "application/json" };
/** Right documents. */
const DOCUMENTS: Readonly<Record<string, { readonly words: Buffer; readonly type: string }>> = {
  "/document.json": toDocument({
    openapi: "3.1.0",
    info: { title: "x", version: "1" },
    servers: [{ url: "/api" }],
    paths: { "/a": { post: { operationId: "list", responses: {} } } },
  }),
  "/agent/.well-known/agent-card.json": toDocument({
    name: "x",
    description: "x",
    version: "1",
    supportedInterfaces: [{ url: "/agent", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: {},
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [{ id: "talk", name: "talk", description: "x", tags: [] }],
  }),
};

function toDocument(value: object): { readonly words: Buffer; readonly type: string } {
  return { words: Buffer.from(JSON.stringify(value)), type: "application/json" };
}

function idOf(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString()) as { id?: unknown }).id ?? null;
  } catch {
    return null;
  }
}

/** A right answer. */
function answerTo(method: string): Json {
  const results: Record<string, Json> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: "foe", version: "1" },
    },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "resources/list": { resources: [{ uri: "mem://one", name: "one" }] },
    "resources/templates/list": { resourceTemplates: [] },
    "prompts/list": { prompts: [{ name: "greet" }] },
    "tools/call": { content: [{ type: "text", text: "said" }] },
    ping: {},
  };
  const result = results[method];
  return result ? { result } : { error: { code: -32601, message: "Method not found" } };
}

const ID = Buffer.from('"%ID%"');

function withId(words: Buffer, id: unknown): Buffer {
  const at = words.indexOf(ID);
  if (at === -1) return words;
  return Buffer.concat([
    words.subarray(0, at),
    Buffer.from(JSON.stringify(id)),
    words.subarray(at + ID.length),
  ]);
}
