import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../kit/until.ts";
import { openRig, type Rig } from "./wire.ts";

async function rigWith(fetch: (path: string) => Response | Promise<Response>): Promise<Rig> {
  const rig = await openRig({ app: { fetch: (request) => fetch(new URL(request.url).pathname) } });
  onTestFinished(() => rig.listener.close(0));
  return rig;
}

/** Sends requests at once; what came back until the connection was closed. */
async function send({ port }: Rig, paths: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const heads = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`);
  socket.write(
    `${heads
      .slice(0, -1)
      .map((head) => `${head}\r\n`)
      .join("")}${heads.at(-1)}Connection: close\r\n\r\n`,
  );
  return text(socket).catch(() => "cut off");
}

const paths = (count: number): string[] => Array.from({ length: count }, (_, at) => `/n${at}`);

it("S2-3: requests that come at once are answered in their order, each when the one before it is", async () => {
  let running = 0;
  let most = 0;
  const rig = await rigWith(async (path) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return new Response(path);
  });
  const answers = await send(rig, paths(100));
  expect(answers.match(/\/n\d+/g)).toEqual(paths(100));
  expect(most).toBe(1);
});

it("S2-3: a connection with more than 100 requests that wait is cut off, and the next is served", async () => {
  const started: string[] = [];
  const rig = await rigWith((path) => {
    started.push(path);
    return new Response(path);
  });
  await send(rig, paths(500));
  expect(started.length).toBeLessThan(102);
  expect(await send(rig, ["/after"])).toContain("/after");
});

it("S2-3, sibling: what waits on a connection that its client leaves is never begun", async () => {
  const started: string[] = [];
  let finish = (): void => undefined;
  const rig = await rigWith(async (path) => {
    started.push(path);
    if (path === "/n0") await new Promise<void>((resolve) => (finish = resolve));
    return new Response(path);
  });
  const socket = connect(rig.port, "127.0.0.1");
  for (const path of paths(3))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${rig.port}\r\n\r\n`);
  await until(() => started.length === 1);
  socket.destroy();
  await new Promise((resolve) => socket.once("close", resolve));
  finish();
  expect(await send(rig, ["/after"])).toContain("/after");
  expect(started).toEqual(["/n0", "/after"]);
});

/** What a client that sends a text gets, until the connection is closed. */
async function sendText({ port }: Rig, sent: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(sent.replaceAll("HOST", `127.0.0.1:${port}`));
  return text(socket).catch(() => "cut off");
}

const IN_CHUNKS =
  "POST /b HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";

it("S2-3, sibling: of requests with bodies in chunks two may wait, since each may hold megabytes of memory", async () => {
  const rig = await rigWith((path) => new Response(path));
  const head = "GET /a HTTP/1.1\r\nHost: HOST\r\n\r\n";
  const last = "GET /c HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n";
  expect((await sendText(rig, head + IN_CHUNKS + last)).match(/\/[abc]/g)).toEqual([
    "/a",
    "/b",
    "/c",
  ]);
  expect(await sendText(rig, head + IN_CHUNKS.repeat(3) + last)).not.toContain("/c");
});

it.each([
  ["websocket", "A WebSocket handshake comes after every answer."],
  ["h2c", "HTTP/1.1 200"],
])(
  "S2-3, sibling: an offer of %s behind an answer is answered behind it, as HTTP",
  async (protocol, told) => {
    const rig = await rigWith(async (path) => {
      await new Promise((resolve) => setImmediate(resolve));
      return new Response(path);
    });
    const offer = `GET /b HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade, close\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
    const answers = await sendText(rig, `GET /a HTTP/1.1\r\nHost: HOST\r\n\r\n${offer}`);
    expect(answers).toMatch(/^HTTP\/1\.1 200 /);
    expect(answers.slice(answers.indexOf("/a"))).toContain(told);
  },
);

it("S2-3, sibling: CONNECT behind an answer that has begun is not answered within it", async () => {
  const parts = new TransformStream<Uint8Array>();
  const writer = parts.writable.getWriter();
  const rig = await rigWith(() => new Response(parts.readable));
  const socket = connect(rig.port, "127.0.0.1");
  socket.write(`GET /a HTTP/1.1\r\nHost: 127.0.0.1:${rig.port}\r\n\r\n`);
  const got = text(socket).catch(() => "cut off");
  const begun = new Promise((resolve) => socket.once("data", resolve));
  await writer.write(Buffer.from("begun"));
  await begun;
  socket.write("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n");
  expect(await got).not.toContain("405");
});
