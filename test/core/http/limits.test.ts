import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import {
  ask,
  drainSocket,
  exchange,
  openRig,
  parseAnswer,
  type Rig,
  type RigOptions,
} from "./wire.ts";

let rig: Rig;
const open = async (options?: RigOptions): Promise<Rig> => (rig = await openRig(options));
afterEach(() => rig.listener.close(0));

const local = (): string => `Host: 127.0.0.1:${rig.port}`;

async function dial(): Promise<Socket> {
  const socket = connect(rig.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

describe("limits", () => {
  it("refuses a head that is too large with 431, in one header or in thousands", async () => {
    await open({ limits: { header: 16 * 1024 } });
    const long = parseAnswer(
      await exchange(rig.port, `GET / HTTP/1.1\r\n${local()}\r\nX: ${"a".repeat(20_000)}\r\n\r\n`),
    );
    expect(long).toMatchObject({ status: 431, body: expect.stringContaining("too_large") });
    const many = Array.from({ length: 5_000 }, (_, n) => `X-${n}: y`).join("\r\n");
    expect(
      parseAnswer(await exchange(rig.port, `GET / HTTP/1.1\r\n${local()}\r\n${many}\r\n\r\n`))
        .status,
    ).toBe(431);
    expect(
      parseAnswer(
        await exchange(rig.port, `GET /${"a".repeat(20_000)} HTTP/1.1\r\n${local()}\r\n\r\n`),
      ).status,
    ).toBe(431);
    expect(rig.reached).toEqual([]);
  });

  it("answers a body that is too large with 413, announced, chunked or unannounced", async () => {
    await open({ limits: { body: 1_000 } });
    const big = "x".repeat(200_000);
    expect(await ask(rig.port, "POST /mcp HTTP/1.1", [local()], big)).toMatchObject({
      status: 413,
    });
    const chunked = `POST /mcp HTTP/1.1\r\n${local()}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`;
    expect(parseAnswer(await exchange(rig.port, chunked))).toMatchObject({ status: 413 });
    const lie = `POST /mcp HTTP/1.1\r\n${local()}\r\nContent-Length: 999999999\r\n\r\nabc`;
    const socket = await dial();
    socket.write(lie);
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413/);
    socket.destroy();
  });

  it("reads a request whose body comes in pieces after Expect: 100-continue", async () => {
    await open();
    const socket = await dial();
    socket.write(
      `POST /mcp HTTP/1.1\r\n${local()}\r\nConnection: close\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`,
    );
    const [go] = await once(socket, "data");
    expect(String(go)).toMatch(/^HTTP\/1\.1 100 /);
    socket.write("ab");
    socket.write("cd");
    expect(await drainSocket(socket)).toContain("size 4");
  });

  it(
    "closes slow-loris sockets, slow heads and slow bodies alike, while others are served",
    { timeout: PATIENCE * 30_000 },
    async () => {
      await open({ limits: { headersTimeout: 1_500, requestTimeout: 3_000 } });
      const slow = await Promise.all(Array.from({ length: 300 }, dial));
      let unanswered = slow.length;
      const gone = slow.map((socket) => drainSocket(socket).finally(() => unanswered--));
      slow.forEach((socket, n) => {
        socket.write(
          n % 2
            ? `POST /mcp HTTP/1.1\r\n${local()}\r\nContent-Length: 1000\r\n\r\na`
            : `GET /mcp HTTP/1.1\r\n${local()}\r\nX: `,
        );
      });
      const drip = setInterval(
        () => slow.forEach((socket) => socket.writable && socket.write("a")),
        50,
      );
      const { status } = await ask(rig.port, "GET /livez HTTP/1.1", [local()]);
      expect(status).toBe(200);
      // Its turn did not come with the end of the others.
      expect(unanswered).toBeGreaterThan(0);
      const answers = await Promise.all(gone);
      clearInterval(drip);
      expect(new Set(answers.map((said) => parseAnswer(said).status))).toEqual(new Set([408]));
    },
  );

  it("lets a long answer outlive the time limits of its request", async () => {
    let send: (chunk: string | undefined) => void = () => {};
    await open({
      limits: { headersTimeout: 300, requestTimeout: 300 },
      app: {
        fetch: () => {
          const stream = new ReadableStream<Uint8Array>({
            start(controller) {
              send = (chunk) =>
                chunk === undefined ? controller.close() : controller.enqueue(Buffer.from(chunk));
              send(": open\n\n");
            },
          });
          return new Response(stream, { headers: { "content-type": "text/event-stream" } });
        },
      },
    });
    const stream = await dial();
    const said = drainSocket(stream);
    stream.write(`GET /events HTTP/1.1\r\n${local()}\r\nConnection: close\r\n\r\n`);
    // A socket that is too slow marks the moment at which the checks have run.
    const slow = await dial();
    slow.write("GET / HTTP/1.1\r\n");
    await drainSocket(slow);
    const slower = await dial();
    slower.write("GET / HTTP/1.1\r\n");
    await drainSocket(slower);
    send("data: still here\n\n");
    send(undefined);
    expect(await said).toContain("data: still here");
  });

  it("drops connections beyond the limit and says so once", async () => {
    await open({ limits: { connections: 5 } });
    const kept = await Promise.all(Array.from({ length: 5 }, dial));
    const extra = await Promise.all(Array.from({ length: 20 }, dial));
    await Promise.all(extra.map(drainSocket));
    expect(rig.log.filter(({ level }) => level === 40)).toHaveLength(1);
    const [socket] = kept;
    const said = drainSocket(socket!);
    socket!.write(`GET /livez HTTP/1.1\r\n${local()}\r\nConnection: close\r\n\r\n`);
    expect(await said).toContain("200 OK");
  });
});
