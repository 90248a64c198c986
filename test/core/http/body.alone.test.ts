import { createServer, request, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectGarbage } from "../../fixtures/garbage.ts";
import { until } from "../../kit/until.ts";
import { readBody } from "./wire.ts";
import { HttpRequest } from "../../../core/http/http-messages.ts";
import { isGatewayError, type GatewayError } from "../../../core/kit/errors.ts";

const LIMIT = 100_000;
let server: Server;
let port: number;
let outcomes: Promise<Buffer>[] = [];
/** Resolves with the outcome of the next request. */
let arrived: () => void = () => {};
/** Bytes of the body that the next request has sent so far. */
let received = 0;

/** A request of a listener, whose body goes past the stream. */
class CountingRequest extends HttpRequest {
  override push(chunk: Buffer | null): boolean {
    received += chunk?.length ?? 0;
    return super.push(chunk);
  }
}

beforeAll(async () => {
  server = createServer({ IncomingMessage: CountingRequest }, (req, res) => {
    const body = readBody(req, LIMIT);
    outcomes.push(body);
    arrived();
    body.then(
      (bytes) => res.end(`${bytes.length}:${bytes.toString("base64")}`),
      (error: GatewayError) => {
        res.statusCode = error.status;
        res.end(error.code);
      },
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends the pieces, each with its own write, and resolves with status and text. */
async function post(
  pieces: readonly Buffer[],
  headers: Record<string, string | number> = {},
): Promise<{ status: number; text: string }> {
  const req = request({ port, host: "127.0.0.1", method: "POST", headers });
  const answer = once(req, "response");
  for (const piece of pieces)
    await new Promise<void>((resolve) => req.write(piece, () => resolve()));
  req.end();
  const [res] = await answer;
  let text = "";
  for await (const chunk of res) text += String(chunk);
  return { status: res.statusCode, text };
}

/** Writes raw bytes and returns everything the server says until it has said `last` or the connection ends. */
async function raw(bytes: string, last: RegExp): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  let said = "";
  for await (const chunk of socket) {
    said += String(chunk);
    if (last.test(said)) break;
  }
  socket.destroy();
  return said;
}

describe("readBody", () => {
  it("returns every body byte for byte, however it is cut, with and without Content-Length", async () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (chunks, withLength) => {
        const whole = Buffer.concat(chunks);
        const headers = withLength
          ? { "content-length": whole.length }
          : { "transfer-encoding": "chunked" };
        const filled = chunks.filter(({ length }) => length > 0).map((chunk) => Buffer.from(chunk));
        expect(await post(filled, headers)).toEqual({
          status: 200,
          text: `${whole.length}:${whole.toString("base64")}`,
        });
      }),
      { numRuns: 150 },
    );
  });

  it("refuses an announced size before reading, and the next request on the socket is understood", async () => {
    const big = "x".repeat(LIMIT + 1);
    const said = await raw(
      `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${big.length}\r\n\r\n${big}POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi`,
      /2:aGk=/,
    );
    expect(said).toMatch(/^HTTP\/1\.1 413 /);
    expect(said).toContain("too_large");
    expect(said).toContain("2:aGk=");
  });

  it("refuses a chunked body as soon as it passes the limit", async () => {
    const chunk = Buffer.alloc(60_000);
    expect(await post([chunk, chunk], { "transfer-encoding": "chunked" })).toEqual({
      status: 413,
      text: "too_large",
    });
    expect(await post([Buffer.alloc(LIMIT)], { "transfer-encoding": "chunked" })).toMatchObject({
      status: 200,
    });
  });

  it("reads 64 MiB of a refused body, and then ends the connection", async () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const piece = Buffer.concat([
      Buffer.from("100000\r\n"),
      Buffer.alloc(2 ** 20),
      Buffer.from("\r\n"),
    ]);
    received = 0;
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    let said = "";
    socket.on("data", (bytes: Buffer) => (said += String(bytes)));
    while (!socket.destroyed)
      if (!socket.write(piece))
        await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    expect(said).toContain("413");
    expect(received).toBeGreaterThan(64 * 2 ** 20);
    expect(received).toBeLessThan(66 * 2 ** 20);
  });

  it("does not hold one object per byte of a body sent in one-byte chunks", async () => {
    const bytes = "1\r\nx\r\n".repeat(LIMIT);
    const socket = connect(port, "127.0.0.1");
    received = 0;
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${bytes}`);
    await until(() => received === LIMIT);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * LIMIT);
    socket.end("0\r\n\r\n");
    const [said] = (await once(socket, "data")) as [Buffer];
    expect(String(said)).toContain(`${LIMIT}:`);
    socket.destroy();
  });

  it("rejects with `cancelled` when the client hangs up in the middle", async () => {
    outcomes = [];
    const started = new Promise<void>((resolve) => (arrived = resolve));
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhal");
    await started;
    socket.destroy();
    const error: unknown = await outcomes[0]!.catch((thrown: unknown) => thrown);
    expect(isGatewayError(error) && error.code).toBe("cancelled");
  });

  it("gives an empty buffer for a request without a body", async () => {
    expect(await post([])).toEqual({ status: 200, text: "0:" });
  });
});
