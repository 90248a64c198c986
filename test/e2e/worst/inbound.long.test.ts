import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ProbedGateway } from "./gateway.ts";
import { COUNTER, GOOD } from "./scene.ts";
import { IS_CAMPAIGN, MOST_MS } from "./trials.ts";

const MIB = 1024 * 1024;
/** How much a client sends in tiny pieces: a turn of the event loop for each message of a WebSocket takes its time. */
const BYTES = IS_CAMPAIGN ? 4 * MIB : MIB / 2;
const SOCKET_BYTES = IS_CAMPAIGN ? MIB : MIB / 8;
/** Most memory that it takes. */
const MOST_MEMORY = 80 * MIB;
/** Longest that the gateway may need to close the connection. */
const PATIENCE_MS = 100_000;

let gateway: ProbedGateway;

beforeAll(async () => {
  gateway = await ProbedGateway.start((port) => ({
    listeners: { main: { port, allowedHosts: ["localhost"] } },
    store: "sqlite:./gateway.db",
    management: { mutations: true },
    log: { level: "info", format: "json" },
    agents: { worker: { description: "Works.", instructions: "You work." } },
    servers: {
      good: GOOD,
    },
    plugins: {
      a2a: COUNTER,
      admin: {},
      agents: {
        model: "away/scripted",
        providers: { away: { type: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1" } },
      },
      events: {},
      gating: {},
      history: {},
      lifecycle: {},
      mcp: {},
      openapi: {},
      payloads: {},
      progress: {},
    },
  }));
}, 60_000);

afterAll(() => gateway.stop());

/** Heads of requests whose body is chunked. */
const CHUNKED: Readonly<Record<string, string>> = {
  "an MCP endpoint": "POST /mcp",
  "a tool over HTTP": "POST /good/echo",
  "a route of the management": "POST /_meta/calls",
  A2A: "POST /",
  "the A2A standard": "POST /message:send",
  nothing: "POST /nothere",
};
/** Chunks of a body, and what they are called. */
const CHUNKS: Readonly<Record<string, string>> = {
  "1 byte": "1\r\n \r\n",
  "16 bytes": `10\r\n${" ".repeat(16)}\r\n`,
};

/** Requests that come behind each other, without a wait for their answers. */
const PIPELINED: Readonly<Record<string, string>> = {
  "of the liveness": "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "of the readiness": "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "of the root": "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "of nothing": "GET /nothere HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "of a foreign host": "GET /livez HTTP/1.1\r\nhost: example.org\r\n\r\n",
  "of the state": "GET /_meta HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "of the history": "GET /_meta/history HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "before a page asks": "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "of MCP": post("/mcp", '{"jsonrpc":"2.0","id":1,"method":"ping"}'),
  "of a notification": post("/mcp", '{"jsonrpc":"2.0","method":"a"}'),
  "of a call over MCP": post(
    "/mcp",
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good__echo","arguments":{}}}',
  ),
  "of a call": post("/good/echo", "{}"),
  "of a call that the management makes": post("/_meta/calls", '{"server":"good","tool":"echo"}'),
  "of an A2A method": post("/", '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"a"}}'),
  "with many headers": `GET /livez HTTP/1.1\r\nhost: localhost\r\n${"a:\r\n".repeat(900)}\r\n`,
};

/** Frames of a WebSocket, masked with zeros. */
const FRAMES: Readonly<Record<string, Buffer>> = {
  "empty texts": frame(0x81),
  "texts of a byte": frame(0x81, "1"),
  "texts of a list": frame(0x81, "[]"),
  "texts of a map": frame(0x81, "{}"),
  pings: frame(0x89),
  pongs: frame(0x8a),
  "parts of one text": frame(0x00, "a"),
};
const SOCKETS: Readonly<Record<string, string>> = { events: "/_meta/events", agent: "/ws/agent/x" };

it.each(
  Object.entries(CHUNKED).flatMap(([what, head]) =>
    Object.entries(CHUNKS).map(([size, piece]) => ({ name: `${size}, ${what}`, head, piece })),
  ),
)(
  "S2-3: a body in chunks does not hold the event loop: $name",
  async ({ head, piece }) => {
    const found = await judge(async (socket) => {
      socket.write(
        `${head} HTTP/1.1\r\n${HOST}content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`,
      );
      await flood(socket, Buffer.from(piece));
      socket.write("2\r\n{}\r\n0\r\n\r\n");
    });
    expect(found).toEqual([]);
  },
  120_000,
);

it.each(Object.entries(PIPELINED))(
  "S2-3: requests %s that come behind each other do not hold the event loop",
  async (_what, request) => {
    const found = await judge(async (socket) => {
      await flood(socket, Buffer.from(request));
      socket.write("GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    });
    expect(found).toEqual([]);
  },
  120_000,
);

it("S2-3: headers without an end do not hold the event loop", async () => {
  const found = await judge(async (socket) => {
    socket.write("GET /livez HTTP/1.1\r\n");
    await flood(socket, Buffer.from("a:\r\n"));
  });
  expect(found).toEqual([]);
}, 120_000);

it.each(
  Object.entries(SOCKETS).flatMap(([what, path]) =>
    Object.entries(FRAMES).map(([kind, piece]) => ({
      name: `${kind}, ${what}`,
      path,
      kind,
      piece,
    })),
  ),
)(
  "S2-3: frames of a WebSocket do not hold the event loop: $name",
  async ({ path, kind, piece }) => {
    const found = await judge(async (socket) => {
      socket.write(
        `GET ${path} HTTP/1.1\r\n${HOST}connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      );
      if (kind === "parts of one text") socket.write(frame(0x01, "a"));
      await flood(socket, piece, SOCKET_BYTES);
      socket.write(frame(0x88));
    });
    expect(found).toEqual([]);
  },
  120_000,
);

it("S1-3: SIGTERM ends it in order afterwards", async () => {
  expect(await gateway.stop()).toBe("0");
});

const HOST = "host: localhost\r\n";

function post(path: string, body: string): string {
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

function frame(head: number, text = ""): Buffer {
  return Buffer.concat([Buffer.from([head, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

/** What a client does on a connection, up to its end. @returns what was too much of what the gateway has of it */
async function judge(work: (socket: Socket) => Promise<void>): Promise<readonly string[]> {
  let isLate = false;
  const { held, grown } = await gateway.measure(async () => {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.on("error", () => undefined).resume();
    const late = setTimeout(() => {
      isLate = true;
      socket.destroy();
    }, PATIENCE_MS);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await work(socket);
    await closed;
    clearTimeout(late);
  });
  gateway.assertAlive();
  const line = `${Math.round(held)} ms, ${(grown / MIB).toFixed(1)} MiB`;
  if (IS_CAMPAIGN) process.stdout.write(`inbound: ${line}\n`);
  if (isLate) return [`${line}, and the connection stayed open`];
  return held > MOST_MS || grown > MOST_MEMORY ? [line] : [];
}

/** Sends one piece again and again, up to where the gateway closes. */
async function flood(socket: Socket, piece: Buffer, bytes = BYTES): Promise<void> {
  const each = Math.max(1, Math.floor(65_536 / piece.length));
  const chunk = Buffer.concat(Array.from({ length: each }, () => piece));
  for (let left = bytes; left > 0 && socket.writable; left -= chunk.length)
    if (!socket.write(chunk))
      await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
}
