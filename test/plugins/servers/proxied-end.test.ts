import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { UndiciPool } from "../../../plugins/servers/pool/undici-pool.ts";
import type { RequestControl } from "../../../plugins/servers/pool/http-pool.ts";

const BODY = "x".repeat(3_000);
const CHUNK = `bb8\r\n${BODY}\r\n`;
/** Responses whose connection ends with their last bytes. */
const RESPONSES: Readonly<Record<string, { readonly text: string; readonly isWhole: boolean }>> = {
  "that ends with its connection": {
    text: `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${BODY}`,
    isWhole: true,
  },
  "of HTTP/1.0": { text: `HTTP/1.0 200 OK\r\n\r\n${BODY}`, isWhole: true },
  "of HTTP/1.0 in chunks": {
    text: `HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${CHUNK}0\r\n\r\n`,
    isWhole: true,
  },
  "in chunks": {
    text: `HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${CHUNK}0\r\n\r\n`,
    isWhole: true,
  },
  "in chunks that is cut off": {
    text: `HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\nbb8\r\n${BODY}`,
    isWhole: false,
  },
  "with a length that is cut off": {
    text: `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3001\r\n\r\n${BODY}`,
    isWhole: false,
  },
  "that keeps its connection, and is cut off": {
    text: `HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 3001\r\n\r\n${BODY}`,
    isWhole: false,
  },
};

/** A proxy that answers itself, and the pool that reaches anything through it. */
async function startPool(text: string): Promise<UndiciPool> {
  const proxy = createServer((socket: Socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(text));
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  const url = new URL("http://example.test/mcp");
  const pool = new UndiciPool(url, `http://127.0.0.1:${port}`, { timeout: 5_000 });
  onTestFinished(async () => {
    await pool.destroy();
    proxy.close();
  });
  return pool;
}

function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it.each(
  Object.entries(RESPONSES).flatMap(([name, response]) =>
    (["works", "holds"] as const).map((reader) => ({ name, reader, ...response })),
  ),
)(
  "S2-3: a response $name by way of a proxy is read to its end while its reader $reader",
  async ({ text, isWhole, reader }) => {
    const pool = await startPool(text);
    let read = 0;
    const outcome = await new Promise<string>((resolve) => {
      let control: RequestControl | undefined;
      pool.dispatch(
        { method: "POST", path: "/mcp", headers: [], body: "{}" },
        {
          onRequestStart: (given) => (control = given),
          onResponseData(chunk) {
            read += chunk.length;
            if (reader === "works") return work(15);
            control!.pause();
            setTimeout(() => control!.resume(), 20);
          },
          onResponseEnd: () => resolve("end"),
          onResponseError: () => resolve("error"),
        },
      );
    });
    expect({ outcome, read }).toEqual({ outcome: isWhole ? "end" : "error", read: 3_000 });
  },
);
