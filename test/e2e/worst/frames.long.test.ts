import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ProbedGateway } from "./gateway.ts";

/** How much a server sends in tiny pieces. */
const BYTES = 4 * 1024 * 1024;
/** What nobody may hold the event loop for, in milliseconds. */
const MOST_MS = 250;

const CHILD = `
const frame = process.argv[1];
const chunk = Buffer.from(frame.repeat(65_536 / frame.length));
let left = ${BYTES};
const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
const flood = (id) => {
  while (left > 0) {
    left -= chunk.length;
    if (!process.stdout.write(chunk)) return process.stdout.once("drain", () => flood(id));
  }
  left = ${BYTES};
  process.stdout.write("\\n");
  answer(id, { content: [] });
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } });
  else if (method === "tools/list") answer(id, { tools: [{ name: "flood", inputSchema: { type: "object" } }] });
  else if (method === "tools/call") flood(id);
  else if (id !== undefined) answer(id, {});
});
`;

/** Lines that a child writes. */
const LINES = {
  numbers: "1\n",
  "empty-lines": "\r\n",
  words: "a b\n",
  maps: "{}\n",
  lists: "[]\n",
  batches: "[1,1,1,1,1,1,1,1]\n",
  notifications: '{"jsonrpc":"2.0","method":"a"}\n',
  logs: '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n',
  changes: '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n',
  questions: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
  answers: '{"jsonrpc":"2.0","id":1,"result":{}}\n',
} as const;

/** Bodies of an answer: how each piece is framed. */
const BODIES = {
  chunks: {
    head: "content-type: application/json\r\ntransfer-encoding: chunked",
    piece: "1\r\n \r\n",
  },
  events: { head: "content-type: text/event-stream", piece: "data:1\n\n" },
  "empty-events": { head: "content-type: text/event-stream", piece: "data:\n\n" },
  "data-lines": { head: "content-type: text/event-stream", piece: "data:\n" },
  comments: { head: "content-type: text/event-stream", piece: ":\n" },
  "chunked-events": {
    head: "content-type: text/event-stream\r\ntransfer-encoding: chunked",
    piece: "2\r\n\n\n\r\n",
  },
  "chunked-data": {
    head: "content-type: text/event-stream\r\ntransfer-encoding: chunked",
    piece: "1\r\nd\r\n1\r\n:\r\n1\r\n\n\r\n1\r\n\n\r\n",
  },
} as const;

let server: Server;
let gateway: ProbedGateway;

beforeAll(async () => {
  server = createServer(speak).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: at } = server.address() as AddressInfo;
  const stdio = Object.entries(LINES).map(([name, frame]) => [
    name,
    { command: process.execPath, args: ["-e", CHILD, frame] },
  ]);
  const origin = `http://127.0.0.1:${at}`;
  const http = Object.keys(BODIES).flatMap((name) => {
    const direct = { url: `${origin}/${name}`, protocol: "legacy" };
    // The server is its own proxy.
    return [
      [name, direct],
      [`proxied-${name}`, { ...direct, proxy: origin }],
    ];
  });
  gateway = await ProbedGateway.start((port) => ({
    listeners: { main: { port } },
    servers: Object.fromEntries([...stdio, ...http]) as object,
    plugins: { mcp: {}, openapi: {}, events: {} },
  }));
}, 60_000);

afterAll(async () => {
  await gateway.stop();
  server.close();
});

const BODY_NAMES = Object.keys(BODIES);

it.each([...Object.keys(LINES), ...BODY_NAMES, ...BODY_NAMES.map((name) => `proxied-${name}`)])(
  "S2-3: 4 MiB in tiny frames do not hold the event loop: %s",
  async (name) => {
    const call = (): Promise<unknown> =>
      fetch(`${gateway.url}/${name}/flood`, {
        method: "POST",
        body: "{}",
        headers: { "content-type": "application/json" },
      }).then((response) => response.text());
    const { held, grown } = await gateway.measure(call);
    expect(held).toBeLessThan(MOST_MS);
    expect(grown).toBeLessThan(20 * BYTES);
  },
);

it("ends in order afterwards", async () => {
  expect(await gateway.stop()).toBe("0");
});

/** An MCP server whose every call is answered in tiny pieces. */
function speak(socket: Socket): void {
  let text = "";
  socket
    .on("error", () => undefined)
    .on("data", (data) => {
      text += data.toString();
      const split = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (split === -1 || text.length < split + 4 + length) return;
      const name = /^\w+ (?:http:\/\/[^/]+)?\/(\S+) /.exec(text)![1] as keyof typeof BODIES;
      const verb = text.slice(0, 4);
      const body = text.slice(split + 4);
      text = "";
      if (verb !== "POST") return void socket.end("HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n");
      const { id, method } = JSON.parse(body) as { id?: number; method: string };
      if (method === "tools/call") return flood(socket, name);
      const result =
        {
          initialize: {
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name, version: "1" },
          },
          "tools/list": { tools: [{ name: "flood", inputSchema: { type: "object" } }] },
        }[method] ?? {};
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result });
      if (id === undefined) socket.write("HTTP/1.1 202 OK\r\ncontent-length: 0\r\n\r\n");
      else
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`,
        );
    });
}

function flood(socket: Socket, name: keyof typeof BODIES): void {
  const { head, piece } = BODIES[name];
  socket.write(`HTTP/1.1 200 OK\r\n${head}\r\nconnection: close\r\n\r\n`);
  const chunk = Buffer.from(piece.repeat(65_536 / piece.length));
  let left = BYTES;
  const write = (): void => {
    while (left > 0) {
      left -= chunk.length;
      if (!socket.write(chunk)) return void socket.once("drain", write);
    }
    socket.end();
  };
  write();
}
