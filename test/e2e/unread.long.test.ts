import { connect, type Socket } from "node:net";
import { digestOf } from "propylon/kit";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKey } from "../../plugins/keys/key.ts";
import { definePlugin, type GatewayConfigInput } from "../../core/index.ts";
import type { Cut } from "../../core/kit/backlog.ts";
import { setupGateway } from "../../core/testing/index.ts";
import openapi from "../../plugins/openapi/index.ts";

/** More than kernels take of an answer that nobody reads. */
const SIZE = 20 * 1024 * 1024;
const TEXT = "x".repeat(SIZE);
const KEYS = { a: createKey("caller"), b: createKey("caller") };

const large = definePlugin({
  name: "large",
  setup(gateway) {
    gateway.tool("large", { description: "Answers much.", run: () => TEXT });
    gateway.route("GET", "/large", { access: "caller", mutates: false }, () => new Response(TEXT));
    gateway.route(
      "GET",
      "/large",
      { access: "caller", mutates: false, websocket: true },
      (socket) => socket.send(TEXT),
    );
  },
});

async function start(limits: GatewayConfigInput["limits"]) {
  const keys = Object.fromEntries(
    Object.entries(KEYS).map(([name, key]) => [
      name,
      { role: "caller" as const, hash: `sha256:${digestOf(key)}` },
    ]),
  );
  const { gateway, url } = await setupGateway({
    plugins: [large, openapi],
    config: { auth: { keys }, limits },
    client: false,
  });
  const cuts: Cut[] = [];
  gateway.hook("answer:cut", (cut) => void cuts.push(cut));
  return { gateway, url, cuts, path: new URL(gateway.endpoints[0]!.url).pathname };
}

/** A client that sends a request and reads when it is told to. */
class Reader {
  readonly socket: Socket;
  received = 0;
  readonly closed: Promise<void>;

  constructor(url: string, head: string, key: string, body = "") {
    const { port, host } = new URL(url);
    this.socket = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void this.socket.destroy());
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve()));
    this.socket.write(
      `${head} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n${this.more}\r\n${body}`,
    );
  }

  get more(): string {
    return "";
  }

  /** Reads to the end; tells how much came. */
  async drain(): Promise<number> {
    this.socket.on("data", (chunk) => (this.received += chunk.length));
    await this.closed;
    return this.received;
  }
}

class HeadedReader extends Reader {
  static headers = "";

  override get more(): string {
    return HeadedReader.headers;
  }
}

function request(url: string, key: string, head: string, headers = "", body = ""): Reader {
  HeadedReader.headers = headers;
  return new HeadedReader(url, head, key, body);
}

async function openSession(url: string, path: string): Promise<string> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEYS.a}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    }),
  });
  await response.text();
  return response.headers.get("mcp-session-id")!;
}

const CALL = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "large", arguments: {} },
});
const WEBSOCKET =
  "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

type Asks = (at: { url: string; path: string }) => Promise<Reader>;
const FACES: Readonly<Record<string, Asks>> = {
  "a call of a session": async ({ url, path }) => {
    const session = `Mcp-Session-Id: ${await openSession(url, path)}\r\n`;
    return request(url, KEYS.a, `POST ${path}`, session, CALL);
  },
  "a tool over HTTP": async ({ url }) =>
    request(url, KEYS.a, "POST /large/large", "", JSON.stringify({})),
  "the route of a plugin": async ({ url }) => request(url, KEYS.a, "GET /large"),
  "a WebSocket": async ({ url }) => request(url, KEYS.a, "GET /large", WEBSOCKET),
};

describe("an answer that nobody reads", () => {
  it.each(Object.entries(FACES))("is cut after its time: %s", async (_face, asks) => {
    const at = await start({ unreadTimeout: "400ms" });
    const reader = await asks(at);
    await expect.poll(() => at.cuts.length).toBe(1);
    expect(at.cuts[0]).toMatchObject({ principal: "key:a", reason: "stalled" });
    expect(at.cuts[0]!.bytes).toBeGreaterThan(SIZE / 4);
    expect(await reader.drain()).toBeLessThan(SIZE);
  });

  it.each(Object.entries(FACES))(
    "makes way for the next ones beyond the bound: %s",
    async (face, asks) => {
      const at = await start({ unread: "50MiB" });
      const readers: Reader[] = [];
      for (let index = 0; index < 6; index++) readers.push(await asks(at));
      const other = request(at.url, KEYS.b, "GET /large");
      // Two answers fit; of a tool over HTTP, which has its text twice, only the one that may be larger.
      const fitting = face === "a tool over HTTP" ? 1 : 2;
      await expect.poll(() => at.cuts.length).toBe(6 - fitting);
      expect(at.cuts.every(({ reason }) => reason === "principal")).toBe(true);
      expect(await other.drain()).toBeGreaterThan(SIZE);
      const whole = await Promise.all(
        readers.map(
          async (reader) => (await Promise.race([reader.drain(), keepsOpen(reader)])) >= SIZE,
        ),
      );
      expect(whole.filter(Boolean)).toHaveLength(fitting);
    },
  );

  it("of whoever has most makes way when all together have too much", async () => {
    const at = await start({ unread: "1GiB", unreadTotal: "70MiB" });
    const kept = request(at.url, KEYS.b, "GET /large");
    for (let index = 0; index < 4; index++) request(at.url, KEYS.a, "GET /large");
    await expect.poll(() => at.cuts.length).toBe(2);
    expect(at.cuts.map(({ principal, reason }) => `${principal} ${reason}`)).toEqual(
      Array.from({ length: 2 }, () => "key:a total"),
    );
    expect(await kept.drain()).toBeGreaterThan(SIZE);
  });

  it("is given up with its session", async () => {
    const at = await start({});
    const session = await openSession(at.url, at.path);
    const header = `Mcp-Session-Id: ${session}\r\n`;
    const reader = request(at.url, KEYS.a, `POST ${at.path}`, header, CALL);
    // The head of the answer is here: what follows it is on its way.
    await new Promise((resolve) => reader.socket.once("readable", resolve));
    const { status } = await fetch(at.url + at.path, {
      method: "DELETE",
      headers: { authorization: `Bearer ${KEYS.a}`, "mcp-session-id": session },
    });
    expect(status).toBe(200);
    expect(await reader.drain()).toBeLessThan(SIZE);
    expect(at.cuts).toEqual([]);
  });
});

it("an answer that is read slowly is not cut", async () => {
  const at = await start({ unreadTimeout: "400ms" });
  const { socket, closed } = request(at.url, KEYS.a, "GET /large");
  let received = 0;
  socket.on("data", (chunk) => {
    received += chunk.length;
    socket.pause();
    // About 3 s for the whole, in pauses far below the limit.
    setTimeout(() => socket.resume(), 2);
  });
  await closed;
  expect(received).toBeGreaterThan(SIZE);
  expect(at.cuts).toEqual([]);
});

/** A WebSocket that was not cut stays open with the whole message. */
async function keepsOpen(reader: Reader): Promise<number> {
  while (reader.received < SIZE && !reader.socket.destroyed)
    await new Promise((resolve) => setImmediate(resolve));
  return reader.received;
}
