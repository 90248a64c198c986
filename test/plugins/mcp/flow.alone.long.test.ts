import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createGateway } from "../../../core/index.ts";
import type { Json } from "../../../core/kit/types.ts";
import { FakeServer, openSession, serve, text } from "./kit.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Posts a call with a progress token on a socket of its own that reads nothing until {@link SlowReader.read}. */
class SlowReader {
  readonly #socket: Socket;
  #body = "";

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async call(url: URL, name: string): Promise<SlowReader> {
    const session = await openSession(url);
    const socket = connect(Number(url.port), "127.0.0.1");
    cleanups.push(() => socket.destroy());
    await new Promise((resolve) => socket.once("connect", resolve));
    const params = { name, arguments: {}, _meta: { progressToken: "t" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const headers = {
      ...session,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "content-length": body.length,
      connection: "close",
    };
    const lines = Object.entries(headers).map(([key, value]) => `${key}: ${String(value)}\r\n`);
    socket.pause();
    socket.write(`POST /mcp HTTP/1.1\r\nHost: ${url.host}\r\n${lines.join("")}\r\n${body}`);
    return new SlowReader(socket);
  }

  /** Reads everything: the messages of the stream. */
  async read(): Promise<Json[]> {
    this.#socket.on("data", (chunk: Buffer) => (this.#body += chunk.toString("latin1")));
    this.#socket.resume();
    await new Promise((resolve) => this.#socket.once("end", resolve));
    return dechunk(this.#body)
      .split("\n\n")
      .filter((frame) => frame.includes("data: "))
      .map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as Json);
  }
}

/** The body of a chunked response. */
function dechunk(response: string): string {
  const parts: string[] = [];
  let at = response.indexOf("\r\n\r\n") + 4;
  for (;;) {
    const end = response.indexOf("\r\n", at);
    const size = Number.parseInt(response.slice(at, end), 16);
    if (!(size > 0)) return parts.join("");
    parts.push(response.slice(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

function progressOf(messages: readonly Json[]): number[] {
  return messages
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => (params as { progress: number }).progress);
}

const COUNT = 20_000;
const FILLER = "x".repeat(4_000);

/** A server whose only tool reports its progress as fast as it can be read. */
async function startBursting(sent: { count: number }): Promise<string> {
  const burst = async (res: ServerResponse, id: unknown, progressToken: unknown): Promise<void> => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const write = (message: Json): boolean =>
      res.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    for (let progress = 1; progress <= COUNT; progress++) {
      const params = { progressToken, progress, message: FILLER };
      const more = write({ method: "notifications/progress", params });
      sent.count = progress;
      if (!more) await new Promise((resolve) => res.once("drain", resolve));
    }
    write({ id, result: { content: [] } });
    res.end();
  };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      if (req.method !== "POST") return res.writeHead(405).end();
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Json;
      const { protocolVersion, _meta } = (params ?? {}) as { protocolVersion: string; _meta: Json };
      if (id === undefined) return res.writeHead(202).end();
      if (method === "tools/call") return void burst(res, id, _meta["progressToken"]);
      const results: Json = {
        initialize: {
          protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "bursting", version: "1.0.0" },
        },
        "tools/list": { tools: [{ name: "burst", inputSchema: { type: "object" } }] },
      };
      const result = results[String(method)];
      const error = { code: -32601, message: "Method not found" };
      res.writeHead(200, { "content-type": "application/json" });
      return res.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** Waits until a number stopped growing. */
async function whenStill(read: () => number): Promise<number> {
  for (let last = -1, same = 0; same < 30;) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    same = read() === last && last > 0 ? same + 1 : 0;
    last = read();
  }
  return read();
}

describe("a client that reads more slowly than it is sent to", () => {
  it("P102: holds up the HTTP stream of its own call, and gets everything in order", async () => {
    const sent = { count: 0 };
    const url = await startBursting(sent);
    const gateway = await createGateway({
      log: { level: "silent" },
      listeners: { main: { port: 0 } },
      servers: { bursting: { url } },
    });
    cleanups.push(() => gateway.close({ grace: 0 }));
    await gateway.listen();
    const endpoint = new URL(gateway.endpoints[0]!.url);
    const reader = await SlowReader.call(endpoint, "burst");
    // 80 MB would have to lie somewhere if nothing held the server up; sockets take a part of that.
    expect(await whenStill(() => sent.count)).toBeLessThan(COUNT);
    const messages = await reader.read();
    expect(progressOf(messages)).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
    expect(messages.at(-1)).toEqual({ jsonrpc: "2.0", id: 1, result: { content: [] } });
  });

  it("loses progress, but neither the last report nor the answer, where the callee cannot be held up", async () => {
    let longestQueue = 0;
    const server = new FakeServer("one").tool("work", async (call) => {
      for (let progress = 1; progress <= COUNT; progress++) {
        call.progress?.({ progress, message: FILLER });
        if (progress % 100 > 0) continue;
        await new Promise((resolve) => setImmediate(resolve));
        longestQueue = Math.max(longestQueue, process.memoryUsage().arrayBuffers);
      }
      return text("done");
    });
    const served = await serve([server], { limits: { streamQueue: "64KiB" } });
    cleanups.push(() => served.close());
    const before = process.memoryUsage().arrayBuffers;
    const finished = new Promise<void>((resolve) => {
      const call = served.host.current.call.bind(served.host.current);
      served.host.current.call = (input) => {
        const answer = call(input);
        answer.then(() => resolve(), resolve);
        return answer;
      };
    });
    const reader = await SlowReader.call(served.url, "work");
    await finished;
    expect(longestQueue - before).toBeLessThan(16 * 1024 * 1024);
    const messages = await reader.read();
    const progress = progressOf(messages);
    expect(progress.length).toBeLessThan(COUNT);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(COUNT);
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "done" }] } });
  });
});
