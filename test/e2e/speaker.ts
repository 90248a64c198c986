import { Pool, type Dispatcher } from "undici";

/** A JSON-RPC message as parsed, of unknown honesty. */
export type Message = Record<string, unknown>;

/** What came back for one POST. */
export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /** Every JSON-RPC message of the answer, from a JSON body or an event stream. */
  readonly messages: readonly Message[];
}

export type Era = "legacy" | "modern";

export const VERSION: Record<Era, string> = { legacy: "2025-11-25", modern: "2026-07-28" };
const META = "io.modelcontextprotocol/";
const ACCEPT = "application/json, text/event-stream";

/** Speaks MCP by hand over kept-alive connections, fast enough to be a load and raw enough to say nonsense. */
export class Speaker {
  readonly era: Era;
  readonly pool: Pool;
  readonly path: string;
  readonly #key: string | undefined;
  #session: string | undefined;
  #nextId = 1;

  /** @param key sent as a bearer token */
  constructor(url: string, era: Era, connections = 32, key?: string) {
    this.#key = key;
    const { origin, pathname } = new URL(url);
    this.era = era;
    this.path = pathname;
    this.pool = new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: 60_000,
      bodyTimeout: 0,
      headersTimeout: 0,
    });
  }

  /** A speaker with an open session where the era has one. */
  static async open(url: string, era: Era, connections?: number, key?: string): Promise<Speaker> {
    const speaker = new Speaker(url, era, connections, key);
    if (era === "legacy") await speaker.#initialize();
    return speaker;
  }

  get session(): string | undefined {
    return this.#session;
  }

  async #initialize(): Promise<void> {
    const params = {
      protocolVersion: VERSION.legacy,
      capabilities: {},
      clientInfo: { name: "speaker", version: "1" },
    };
    const { headers, status } = await this.post({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params,
    });
    if (status !== 200) throw new Error(`initialize was answered ${status}`);
    this.#session = String(headers["mcp-session-id"]);
    await this.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** Sends a well-formed request of the era. */
  request(
    method: string,
    params: Message = {},
    id: string | number = this.#nextId++,
  ): Promise<Reply> {
    return this.post(this.message(method, params, id));
  }

  /** Calls a tool and returns its text, or throws with whatever else came back. */
  async call(name: string, args: Message = {}, meta?: Message): Promise<string> {
    const reply = await this.request("tools/call", {
      name,
      arguments: args,
      ...(meta && { _meta: meta }),
    });
    const answer = reply.messages.find((message) => "result" in message || "error" in message);
    const result = answer?.["result"] as
      | { content?: { text?: string }[]; isError?: boolean }
      | undefined;
    if (reply.status !== 200 || result === undefined || result.isError)
      throw new Error(`${name}: ${reply.status} ${JSON.stringify(answer)}`);
    return result.content?.[0]?.text ?? "";
  }

  /** A request of the era, as it goes over the wire. */
  message(method: string, params: Message, id: string | number): Message {
    if (this.era === "legacy") return { jsonrpc: "2.0", id, method, params };
    const meta = {
      ...(params["_meta"] as Message | undefined),
      [`${META}protocolVersion`]: VERSION.modern,
      [`${META}clientInfo`]: { name: "speaker", version: "1" },
      [`${META}clientCapabilities`]: {},
    };
    return { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
  }

  /** Sends one message with the headers that belong to it. */
  async post(message: Message): Promise<Reply> {
    return this.send(JSON.stringify(message), this.headersFor(message));
  }

  headersFor(message: unknown): Record<string, string> {
    const headers: Record<string, string> = { "content-type": "application/json", accept: ACCEPT };
    if (this.#key !== undefined) headers["authorization"] = `Bearer ${this.#key}`;
    if (this.era === "legacy") {
      if (this.#session !== undefined)
        Object.assign(headers, {
          "mcp-session-id": this.#session,
          "mcp-protocol-version": VERSION.legacy,
        });
      return headers;
    }
    headers["mcp-protocol-version"] = VERSION.modern;
    const { method, params } = (message ?? {}) as {
      method?: unknown;
      params?: { name?: unknown; uri?: unknown };
    };
    const name = params?.name ?? params?.uri;
    if (isHeaderText(method)) headers["mcp-method"] = method;
    if (isHeaderText(name)) headers["mcp-name"] = name;
    return headers;
  }

  /** Sends any body. A stream that never ends is left after its first answer. */
  async send(body: string | Buffer, headers: Record<string, string>): Promise<Reply> {
    const response = await this.pool.request({ method: "POST", path: this.path, headers, body });
    return {
      status: response.statusCode,
      headers: response.headers,
      messages: await readMessages(response),
    };
  }

  /** Opens an event stream: the legacy GET, or `subscriptions/listen`. */
  async listen(): Promise<OpenStream> {
    const message = this.message(
      "subscriptions/listen",
      { notifications: { toolsListChanged: true } },
      "listen",
    );
    const legacy = {
      method: "GET",
      headers: { ...this.headersFor({}), accept: "text/event-stream" },
    } as const;
    const modern = {
      method: "POST",
      headers: this.headersFor(message),
      body: JSON.stringify(message),
    } as const;
    const response = await this.pool.request({
      path: this.path,
      ...(this.era === "legacy" ? legacy : modern),
    });
    if (response.statusCode !== 200)
      throw new Error(
        `the stream was answered ${response.statusCode}: ${await response.body.text()}`,
      );
    return new OpenStream(response.body);
  }

  async close(): Promise<void> {
    await this.pool.destroy();
  }
}

/** A stream that is meant to stay. */
export class OpenStream {
  readonly #body: Dispatcher.ResponseData["body"];
  /** Everything it said. */
  text = "";
  ended = false;

  constructor(body: Dispatcher.ResponseData["body"]) {
    this.#body = body;
    body.on("data", (chunk: Buffer) => (this.text += String(chunk)));
    body.on("end", () => (this.ended = true));
    body.on("error", () => (this.ended = true));
  }

  close(): void {
    this.#body.destroy();
  }
}

async function readMessages({
  headers,
  body,
}: Dispatcher.ResponseData): Promise<readonly Message[]> {
  const type = String(headers["content-type"] ?? "");
  if (!type.includes("text/event-stream")) {
    const text = await body.text();
    if (!type.includes("application/json") || text === "") return [];
    const value: unknown = JSON.parse(text);
    return (Array.isArray(value) ? value : [value]) as Message[];
  }
  let text = "";
  for await (const chunk of body) {
    text += String(chunk);
    // The acknowledgement of a subscription is all that comes: nobody else changes anything.
    if (text.includes('"notifications/subscriptions/acknowledged"')) break;
  }
  return text.split(/\n\n/).flatMap(parseEvent);
}

function parseEvent(event: string): Message[] {
  const data = event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
  return data === "" ? [] : [JSON.parse(data) as Message];
}

/** Whether a value can stand in a header as it is. */
function isHeaderText(value: unknown): value is string {
  return (
    typeof value === "string" &&
    /^[\x21-\x7e][\x20-\x7e]{0,200}$/.test(value) &&
    !value.endsWith(" ")
  );
}
