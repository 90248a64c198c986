import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { HttpPool, type RequestControl } from "../../../plugins/servers/pool/http-pool.ts";
import { ResponseParser } from "../../../plugins/servers/pool/http-parser.ts";
import { makeAuthority, makeCertificate } from "../../fixtures/certificate.ts";
import { makeFolder } from "../../kit/folder.ts";
import { closing } from "./support/use.ts";

const use = closing();

interface Outcome {
  readonly status?: number;
  readonly body?: string;
  readonly error?: string;
  readonly started?: boolean;
}

/** A server on a real socket, which does with each request what it is told. */
async function serveRaw(onRequest: (socket: Socket, text: string) => void) {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("data", (data) => onRequest(socket, data.toString("latin1")));
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return use({ port, sockets, close });
}

function poolOf(port: number, origin = "http://127.0.0.1", timeout = 60_000): HttpPool {
  const pool = new HttpPool(new URL(`${origin}:${port}`), { timeout });
  use({ close: () => pool.destroy() });
  return pool;
}

function ask(
  pool: HttpPool,
  onStart?: (control: RequestControl) => void,
  headers: string[] = [],
): Promise<Outcome> {
  const chunks: Buffer[] = [];
  let status = 0;
  let started = false;
  return new Promise((resolve) =>
    pool.dispatch(
      { method: "POST", path: "/", headers, body: "{}" },
      {
        onRequestStart(control) {
          started = true;
          onStart?.(control);
        },
        onResponseStart: (value) => (status = value),
        onResponseData: (chunk) => chunks.push(chunk),
        onResponseEnd: () => resolve({ status, body: Buffer.concat(chunks).toString("latin1") }),
        onResponseError: (error) =>
          resolve({ error: String((error as NodeJS.ErrnoException).code), started }),
      },
    ),
  );
}

const REFUSED: readonly [what: string, answer: string, code: string][] = [
  [
    "a length beside chunks",
    "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "HPE_INVALID_TRANSFER_ENCODING",
  ],
  ["two lengths", "content-length: 1\r\ncontent-length: 2\r\n\r\nab", "HPE_INVALID_CONTENT_LENGTH"],
  ["a list of lengths", "content-length: 2, 2\r\n\r\nab", "HPE_INVALID_CONTENT_LENGTH"],
  ["a signed length", "content-length: +2\r\n\r\nab", "HPE_INVALID_CONTENT_LENGTH"],
  [
    "a coding besides chunked",
    "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HPE_INVALID_TRANSFER_ENCODING",
  ],
  ["a folded line", "x: a\r\n b\r\ncontent-length: 0\r\n\r\n", "HPE_INVALID_HEADER_TOKEN"],
  ["a blank before the colon", "content-length : 0\r\n\r\n", "HPE_INVALID_HEADER_TOKEN"],
  ["a lone LF", "x: a\ncontent-length: 0\r\n\r\n", "HPE_INVALID_HEADER_TOKEN"],
  [
    "a chunk that is longer than its size",
    "transfer-encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
    "HPE_STRICT",
  ],
  [
    "a chunk size with a sign",
    "transfer-encoding: chunked\r\n\r\n-1\r\n",
    "HPE_INVALID_CHUNK_SIZE",
  ],
  [
    "a chunk size beyond counting",
    `transfer-encoding: chunked\r\n\r\n${"f".repeat(16)}\r\n`,
    "HPE_INVALID_CHUNK_SIZE",
  ],
  [
    "a chunk size line without an end",
    `transfer-encoding: chunked\r\n\r\n1;${"x".repeat(2_000)}`,
    "HPE_HEADER_OVERFLOW",
  ],
  [
    "a chunk size with a blank behind it",
    "transfer-encoding: chunked\r\n\r\n1 \r\nx",
    "HPE_INVALID_CHUNK_SIZE",
  ],
  [
    "an extension of a chunk that has no name",
    "transfer-encoding: chunked\r\n\r\n1;\r\nx",
    "HPE_INVALID_CHUNK_SIZE",
  ],
  [
    "an extension of a chunk that is no token",
    "transfer-encoding: chunked\r\n\r\n1;x=\xff\r\nx",
    "HPE_INVALID_CHUNK_SIZE",
  ],
  [
    "a length in a trailer",
    "transfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 3\r\n\r\n",
    "HPE_INVALID_HEADER_TOKEN",
  ],
  ["a tab behind a length", "content-length: 1\t\r\n\r\nx", "HPE_INVALID_HEADER_TOKEN"],
  [
    "a tab behind a coding",
    "transfer-encoding: chunked\t\r\n\r\n0\r\n\r\n",
    "HPE_INVALID_HEADER_TOKEN",
  ],
  ["a head without an end", `x: ${"y".repeat(20_000)}`, "HPE_HEADER_OVERFLOW"],
  [
    "trailers without an end",
    `transfer-encoding: chunked\r\n\r\n0\r\nx: ${"y".repeat(20_000)}`,
    "HPE_HEADER_OVERFLOW",
  ],
];

it.each(REFUSED)("refuses %s", async (_, answer, code) => {
  const server = await serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${answer}`, "latin1"));
  expect(await ask(poolOf(server.port))).toEqual({ error: code, started: true });
});

it("refuses another protocol, and interim responses without end", async () => {
  const other = await serveRaw((socket) => socket.write("HTTP/1.1 101 Go\r\n\r\n"));
  const endless = await serveRaw((socket) => socket.write("HTTP/1.1 103 Early\r\n\r\n".repeat(50)));
  const ssh = await serveRaw((socket) => socket.write("SSH-2.0-x\r\n\r\n"));
  expect((await ask(poolOf(other.port))).error).toBe("HPE_INVALID_STATUS");
  expect((await ask(poolOf(endless.port))).error).toBe("HPE_INVALID_STATUS");
  expect((await ask(poolOf(ssh.port))).error).toBe("HPE_INVALID_CONSTANT");
});

it.each([
  ["two lengths", "content-length: 1\r\ncontent-length: 1", "HPE_INVALID_CONTENT_LENGTH"],
  ["a length that is no number", "content-length: 3 3", "HPE_INVALID_CONTENT_LENGTH"],
  ["the end of its connection", "connection: close", "HPE_INVALID_STATUS"],
])("refuses an interim response with %s", async (_, line, code) => {
  const text = `HTTP/1.1 103 Early\r\n${line}\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`;
  const server = await serveRaw((socket) => socket.write(text, "latin1"));
  expect(await ask(poolOf(server.port))).toEqual({ error: code, started: true });
});

it("takes an interim response of a connection that is kept for a second", async () => {
  const text = `HTTP/1.1 103 Early\r\nkeep-alive: timeout=1\r\n\r\n${ok("x")}`;
  const server = await serveRaw((socket) => socket.write(text, "latin1"));
  expect(await ask(poolOf(server.port))).toEqual({ status: 200, body: "x" });
});

it("uses no connection again whose end was that of a body", () => {
  const idle: number[] = [];
  const parser = new ResponseParser({ onHead() {}, onBody() {}, onEnd: (ms) => idle.push(ms) });
  parser.expect();
  parser.push(Buffer.from("HTTP/1.1 200 OK\r\n\r\nx"));
  parser.finish();
  expect(idle).toEqual([0]);
});

it("takes no more than spaces and tabs off a value", async () => {
  const text = ok("x", "x-name: \t \xa0a\xa0 \t\r\n");
  const server = await serveRaw((socket) => socket.write(text, "latin1"));
  const headers = await new Promise((resolve, reject) =>
    poolOf(server.port).dispatch(
      { method: "GET", path: "/", headers: [], body: null },
      {
        onResponseStart: (_, values) => resolve(values),
        onResponseEnd: () => undefined,
        onResponseError: reject,
      },
    ),
  );
  expect(headers).toEqual(["x-name", "\xa0a\xa0", "content-length", "1"]);
});

it("spends no time on a header of 16 KB of blanks", () => {
  const parser = new ResponseParser({ onHead() {}, onBody() {}, onEnd() {} });
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nx:${" ".repeat(16_000)}\0\r\n\r\n`);
  parser.expect();
  const from = process.cpuUsage();
  expect(() => parser.push(head)).toThrow("an invalid header line");
  // It was 240 ms.
  expect(process.cpuUsage(from).user / 1_000).toBeLessThan(50);
});

const ok = (text: string, more = ""): string =>
  `HTTP/1.1 200 OK\r\n${more}content-length: ${text.length}\r\n\r\n${text}`;

describe("a connection", () => {
  /** The bodies of three requests in turn, each with the number of its connection. */
  async function three(answer: (count: number) => string): Promise<(string | undefined)[]> {
    const numbers = new Map<Socket, number>();
    let count = 0;
    const server = await serveRaw((socket) => {
      if (!numbers.has(socket)) numbers.set(socket, numbers.size);
      socket.write(answer(count++).replace("#", String(numbers.get(socket))));
    });
    const pool = poolOf(server.port);
    const bodies: (string | undefined)[] = [];
    for (let index = 0; index < 3; index++) bodies.push((await ask(pool)).body);
    return bodies;
  }

  it("is used again", async () => {
    expect(await three(() => ok("#"))).toEqual(["0", "0", "0"]);
    expect(await three(() => "HTTP/1.1 204 No\r\n\r\n")).toEqual(["", "", ""]);
  });

  it.each([
    ["its server says so", () => ok("#", "Connection: x, Close\r\n")],
    ["its server would close it at once", () => ok("#", "Keep-Alive: timeout=1\r\n")],
    ["bytes stand behind the answer", () => ok("#") + ok("forged")],
    ["it speaks HTTP/1.0", () => ok("#").replace("1.1", "1.0")],
  ])("is not, when %s", async (_, answer) => {
    expect(await three(answer)).toEqual(["0", "1", "2"]);
  });

  it("that its server closed while it was idle is replaced, without a lost request", async () => {
    const server = await serveRaw((socket) => socket.end(ok("x", "keep-alive: timeout=60\r\n")));
    const pool = poolOf(server.port);
    for (let index = 0; index < 20; index++) {
      expect(await ask(pool)).toEqual({ status: 200, body: "x" });
      await expect.poll(() => server.sockets.size).toBe(0);
    }
  });

  it("is given up a second before its server would, each at its own time", async () => {
    const ends: [seconds: number, ms: number][] = [];
    const server = await serveRaw((socket, text) => {
      const seconds = Number(/x-seconds: (\d)/.exec(text)![1]);
      socket.write(ok("x", `keep-alive: timeout=${seconds}\r\n`));
      const from = performance.now();
      socket.once("close", () => ends.push([seconds, performance.now() - from]));
    });
    const pool = poolOf(server.port);
    // The one that lives longer first: the timer that waits for it must not hold the other.
    await Promise.all([
      ask(pool, undefined, ["x-seconds", "3"]),
      ask(pool, undefined, ["x-seconds", "2"]),
    ]);
    await expect.poll(() => server.sockets.size, { timeout: 10_000 }).toBe(0);
    expect(ends.map(([seconds]) => seconds)).toEqual([2, 3]);
    for (const [seconds, ms] of ends) expect(ms).toBeGreaterThan((seconds - 1) * 1_000 - 50);
  });

  it("that gets a byte while it is idle is closed", async () => {
    const server = await serveRaw((socket) => socket.write(ok("x")));
    const pool = poolOf(server.port);
    await ask(pool);
    for (const socket of server.sockets) socket.write("HTTP/1.1 200 OK\r\n");
    await expect.poll(() => server.sockets.size).toBe(0);
    expect((await ask(pool)).status).toBe(200);
  });

  it("that cannot be made fails before a byte went out", async () => {
    const server = await serveRaw(() => undefined);
    const pool = poolOf(server.port);
    await server.close();
    expect(await ask(pool)).toEqual({ error: "ECONNREFUSED", started: false });
  });

  it("that breaks fails its request with what broke", async () => {
    const short = await serveRaw((socket) =>
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"),
    );
    const none = await serveRaw((socket) => socket.end());
    expect((await ask(poolOf(short.port))).error).toBe("ERR_HTTP_CONTENT_LENGTH_MISMATCH");
    expect((await ask(poolOf(none.port))).error).toBe("ERR_STREAM_PREMATURE_CLOSE");
  });
});

it("opens 1,024 connections and no more; a request beyond waits for a free one", async () => {
  const held: Socket[] = [];
  const server = await serveRaw((socket) => held.push(socket));
  const pool = poolOf(server.port);
  const answers = Array.from({ length: 1_030 }, () => ask(pool));
  await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1_024);
  expect(server.sockets.size).toBe(1_024);
  for (let at = 0; at < 1_030; at++) {
    await expect.poll(() => held.length, { timeout: 20_000 }).toBeGreaterThan(at);
    held[at]!.write(ok("x"));
  }
  expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true);
  expect(server.sockets.size).toBe(1_024);
});

it("makes room among 1,024 connections for a request that needs a new one", async () => {
  const sockets: Socket[] = [];
  const server = await serveRaw((socket) => sockets.push(socket));
  const pool = poolOf(server.port);
  const first = Array.from({ length: 1_024 }, () => ask(pool));
  await expect.poll(() => sockets.length, { timeout: 20_000 }).toBe(1_024);
  const fresh = (): Promise<boolean> =>
    new Promise((resolve, reject) => {
      let isReused = true;
      pool.dispatch(
        { method: "POST", path: "/", headers: [], body: "{}", isFresh: true },
        {
          onRequestStart: (control) => (isReused = control.isReused),
          onResponseEnd: () => resolve(isReused),
          onResponseError: reject,
        },
      );
    });
  // One that waits takes no connection that becomes free, and needs not wait for one that is idle to grow old.
  for (const free of [0, 1]) {
    const isReused = fresh();
    if (free === 0) sockets[0]!.write(ok("x", "keep-alive: timeout=600\r\n"));
    await expect.poll(() => sockets.length, { timeout: 2_000 }).toBe(1_025 + free);
    sockets.at(-1)!.write(ok("x", "keep-alive: timeout=600\r\n"));
    expect(await isReused).toBe(false);
  }
  expect(server.sockets.size).toBeLessThanOrEqual(1_024);
  void Promise.allSettled(first);
});

it("stops and goes on as its reader asks, and ends when it is not wanted", async () => {
  // More than the kernel holds for a reader that stands still: 4 MB, and 32 MB where buffers may be large.
  const length = 48_000_000;
  const server = await serveRaw((socket) => socket.write(ok("x".repeat(length))));
  const pool = poolOf(server.port);
  let control!: RequestControl;
  const whole = ask(pool, (value) => (control = value).pause());
  await expect.poll(() => [...server.sockets][0]?.writableLength ?? 0).toBeGreaterThan(0);
  control.resume();
  expect((await whole).body).toHaveLength(length);
  control.abort(new Error("too late, and of somebody else's connection"));
  const gone = Object.assign(new Error("not wanted"), { code: "GONE" });
  expect((await ask(pool, (value) => value.abort(gone))).error).toBe("GONE");
});

it("sends no header that could be read as two", async () => {
  const server = await serveRaw((socket) => socket.write(ok("x")));
  const pool = poolOf(server.port);
  for (const header of [
    ["x", "a\r\ny: b"],
    ["x", "a\n"],
    ["x: y\r\nz", "a"],
    ["", "a"],
    ["x", "ł"],
  ])
    expect(await ask(pool, undefined, header)).toEqual({
      error: "ERR_INVALID_CHAR",
      started: false,
    });
  expect(server.sockets.size).toBe(0);
});

it("sends bodies in UTF-8 beside headers in latin1", async () => {
  const texts: string[] = [];
  const server = await serveRaw((socket, text) => {
    texts.push(text);
    if (text.includes("{}")) socket.write(ok("x"));
  });
  await ask(poolOf(server.port), undefined, ["x-name", "caf\xe9"]);
  expect(texts.join("")).toBe(
    `POST / HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nx-name: caf\xe9\r\ncontent-length: 2\r\n\r\n{}`,
  );
});

describe("TLS", () => {
  const authority = makeAuthority({ name: "Test authority" });
  const { cert, key } = makeCertificate({ name: "x", hosts: ["localhost"] }, authority);

  async function serveTls(): Promise<{ port: number; reused: boolean[] }> {
    const reused: boolean[] = [];
    const server = createTlsServer({ cert, key }, (socket) => {
      reused.push(socket.isSessionReused());
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(ok("x", "connection: close\r\n")));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    use({ close: () => new Promise((resolve) => server.close(resolve)) });
    return { port: (server.address() as AddressInfo).port, reused };
  }

  it("refuses a server whose certificate nobody vouches for, before a byte went out", async () => {
    const { port } = await serveTls();
    expect(await ask(poolOf(port, "https://localhost"))).toEqual({
      error: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      started: false,
    });
  });

  it("trusts an authority that the operator named, for its names only, and takes a session up again", async () => {
    const { port, reused } = await serveTls();
    const folder = makeFolder();
    const file = join(folder, "authority.pem");
    await writeFile(file, authority.cert);
    const child = `
      const { createJiti } = await import("jiti");
      const { HttpPool } = await createJiti(process.cwd()).import(process.cwd() + "/plugins/servers/pool/http-pool.ts");
      const asked = (pool) => new Promise((resolve) => pool.dispatch(
        { method: "GET", path: "/", headers: [], body: null },
        { onResponseEnd: () => resolve("through"), onResponseError: (error) => resolve(error.code) },
      ));
      const named = new HttpPool(new URL("https://localhost:${port}"), { timeout: 60_000 });
      const other = new HttpPool(new URL("https://127.0.0.1:${port}"), { timeout: 60_000 });
      console.log(JSON.stringify([await asked(named), await asked(named), await asked(other)]));
      await named.destroy();
      await other.destroy();`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", child],
      { env: { PATH: process.env["PATH"], NODE_EXTRA_CA_CERTS: file } },
    );
    expect(JSON.parse(stdout)).toEqual(["through", "through", "ERR_TLS_CERT_ALTNAME_INVALID"]);
    expect(reused.slice(0, 2)).toEqual([false, true]);
  });
});

it("gives up a connection whose handshake takes too long", async () => {
  const silent = await serveRaw(() => undefined);
  expect(await ask(poolOf(silent.port, "https://127.0.0.1", 50))).toEqual({
    error: "ETIMEDOUT",
    started: false,
  });
});
