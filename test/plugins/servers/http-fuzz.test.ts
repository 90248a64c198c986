import { once } from "node:events";
import { request } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HttpPool } from "../../../plugins/servers/pool/http-pool.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { Dice } from "../../e2e/hostile/grammar.ts";
import { cut, makeAnswer, pieces } from "./support/answers.ts";
import { askNode, Pipe, PipedPool, type Reading } from "./support/readers.ts";
import { closing } from "./support/use.ts";

/** 1,000,000 in `npm run campaign -- http-client`. */
const ANSWERS = Number(process.env["HTTP_ANSWERS"] ?? 20_000);
/** Each run has another one; a fault names the one that finds it again at once. */
const SEED = Number(process.env["HTTP_SEED"] ?? Date.now() % 1_000_000);
/** One for each answer on a connection. */
const MARKS = ["\xf1", "\xf2", "\xf3"] as const;

const use = closing();

/** What is wrong with how our client read an answer, beside what `node:http` made of it: it may be stricter, and no more. */
function faultOf(ours: Reading, nodes: Reading, mark: string): string | undefined {
  const text = `${ours.headers?.join("\n")}${ours.body}`;
  if (MARKS.some((other) => other !== mark && text.includes(other)))
    return "a byte of another answer";
  if (!ours.body.startsWith(nodes.body) && !nodes.body.startsWith(ours.body)) return "another body";
  if (ours.error !== undefined) return undefined;
  if (nodes.error !== undefined) return "node:http refuses it";
  if (ours.status !== nodes.status) return "another status";
  if (JSON.stringify(ours.headers) !== JSON.stringify(nodes.headers)) return "other headers";
  if (ours.body !== nodes.body) return "a part of the body";
  if (ours.isKept && !nodes.isKept) return "its connection is to be closed";
  return undefined;
}

/** Reads answers in turn, over one connection where it is kept. */
async function compare(
  answers: readonly { readonly mark: string; readonly chunks: readonly Buffer[] }[],
  seed: number,
): Promise<Readings> {
  const pool = new PipedPool();
  const readings = { read: 0, refused: 0, stricter: 0, reused: 0 };
  for (const { mark, chunks } of answers) {
    const [ours, nodes] = await Promise.all([pool.ask(chunks), askNode(chunks)]);
    const fault = faultOf(ours, nodes, mark);
    if (fault !== undefined) {
      const text = Buffer.concat(chunks).toString("latin1");
      throw new Error(
        `${fault}; HTTP_SEED=${seed} HTTP_ANSWERS=${answers.length}: ${JSON.stringify({ text, chunks: chunks.length, ours, nodes })}`,
      );
    }
    if (ours.error === undefined) readings.read++;
    else if (nodes.error === undefined) readings.stricter++;
    else readings.refused++;
  }
  readings.reused = pool.reused;
  await pool.destroy();
  return readings;
}

/** How many answers both clients read, and both refused, ours alone refused; how many came on a connection that had one before. */
type Readings = Record<"read" | "refused" | "stricter" | "reused", number>;

it(
  `AC7: ${ANSWERS} spoilt answers are read as node:http reads them or refused, and none has a byte of another (HTTP_SEED=${SEED})`,
  { timeout: PATIENCE * 3_600_000 },
  async () => {
    const all: Readings = { read: 0, refused: 0, stricter: 0, reused: 0 };
    for (let done = 0; done < ANSWERS; done += MARKS.length) {
      const dice = new Dice(SEED + done);
      const answers = MARKS.map((mark) => ({ mark, chunks: cut(dice, makeAnswer(dice, mark)) }));
      const readings = await compare(answers, SEED + done);
      for (const name of Object.keys(all) as (keyof Readings)[]) all[name] += readings[name];
    }
    process.stderr.write(`answers of HTTP servers, seed ${SEED}: ${JSON.stringify(all)}\n`);
    // A fuzz whose answers are all refused finds nothing.
    if (ANSWERS < 1_000) return;
    expect(all.read).toBeGreaterThan(ANSWERS / 4);
    expect(all.refused).toBeGreaterThan(ANSWERS / 10);
    expect(all.reused).toBeGreaterThan(ANSWERS / 20);
  },
);

const WHOLE = {
  "with a length":
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\n\r\n{}\r\n\xf1\xf1",
  "in chunks":
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\na\xf1\r\r\n1\r\n\n\r\n0\r\nx: y\r\n\r\n",
  "to its end": "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\xf1",
  "behind others":
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
};

describe.each(Object.entries(WHOLE))("an answer %s", (_, text) => {
  const bytes = Buffer.from(text, "latin1");
  const cuts = Array.from({ length: bytes.length - 1 }, (_unused, at) => at + 1);

  it("is the same, wherever it is cut in two", async () => {
    for (const at of cuts) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      expect((await compare([{ mark: "\xf1", chunks }], SEED)).read, `cut at ${at}`).toBe(1);
    }
    expect((await compare([{ mark: "\xf1", chunks: pieces(bytes, 1) }], SEED)).read).toBe(1);
  });

  it("that ends too soon is refused as node:http refuses it, and the next one is whole", async () => {
    for (const at of cuts) {
      const answers = [
        { mark: "\xf1", chunks: [bytes.subarray(0, at)] },
        {
          mark: "\xf2",
          chunks: [Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n\xf2", "latin1")],
        },
      ];
      const { read, stricter } = await compare(answers, SEED);
      expect(read, `cut at ${at}`).toBeGreaterThan(0);
      expect(stricter, `cut at ${at}`).toBe(0);
    }
  });

  it("takes its connection with it when others stand behind it", async () => {
    const chunks = [Buffer.concat([bytes, bytes, bytes])];
    const readings = await compare([{ mark: "\xf1", chunks }, { mark: "\xf2", chunks: [Buffer.from("HTTP/1.1 204 No\r\n\r\n")] }], SEED); // prettier-ignore
    expect(readings).toEqual({ read: 2, refused: 0, stricter: 0, reused: 0 });
  });
});

it.each([
  [
    "the coding identity, to the end",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\nconnection: close\r\n\r\nx",
  ],
  [
    "gzip under chunks",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
  ],
  [
    "chunks in HTTP/1.0",
    "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
  ],
  ["an empty line in front", "\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"],
  [
    "a size of 16 digits",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0000000000000001\r\nx\r\n0\r\n\r\n",
  ],
  [
    "an escaped quote in an extension",
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a="\\""\r\nx\r\n0\r\n\r\n',
  ],
])("is stricter than node:http: %s", async (_what, text) => {
  const pool = new PipedPool();
  use({ close: () => pool.destroy() });
  const chunks = [Buffer.from(text, "latin1")];
  const [ours, nodes] = await Promise.all([pool.ask(chunks), askNode(chunks)]);
  expect(ours.error).toBeDefined();
  expect(nodes).toMatchObject({ status: 200, body: "x" });
  expect(nodes.error).toBeUndefined();
});

it("a request that waits for a connection gets nothing that stood behind the answer before it", async () => {
  const pipes: Pipe[] = [];
  class SilentPool extends HttpPool {
    protected override connect(): Socket {
      const pipe = new Pipe();
      pipes.push(pipe);
      process.nextTick(() => pipe.emit("connect"));
      return pipe as unknown as Socket;
    }
  }
  const pool = new SilentPool(new URL("http://server.test"), { timeout: 60_000 });
  const ended = Array.from({ length: 1_025 }, () => {
    return new Promise<string>((resolve) => {
      let body = "";
      pool.dispatch(
        { method: "POST", path: "/", headers: [], body: "{}" },
        {
          onResponseData: (chunk) => (body += chunk.toString("latin1")),
          onResponseEnd: () => resolve(body),
          onResponseError: (error) => resolve(String(error)),
        },
      );
    });
  });
  const answer = (body: string): string => `HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n${body}`;
  await expect.poll(() => pipes.length).toBe(1_024);
  pipes[0]!.push(answer("a") + answer("b"));
  await expect.poll(() => pipes.length).toBe(1_025);
  pipes[1_024]!.push(answer("c"));
  expect(await Promise.all([ended[0], ended[1_024]])).toEqual(["a", "c"]);
  await pool.destroy();
});

/** What a client makes of an answer over a socket. */
interface Outcome {
  readonly status?: number;
  readonly body?: string;
  readonly error?: string;
}

/** A server on a real socket, which does with each request what it is told. */
async function serveRaw(onRequest: (socket: Socket) => void) {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on("data", () => onRequest(socket)).on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): Promise<unknown> => new Promise((resolve) => server.close(resolve));
  return { port: (server.address() as AddressInfo).port, close };
}

function askBySocket(port: number): Promise<Outcome> {
  const pool = new HttpPool(new URL(`http://127.0.0.1:${port}`), { timeout: 60_000 });
  use({ close: () => pool.destroy() });
  const chunks: Buffer[] = [];
  let status = 0;
  return new Promise((resolve) =>
    pool.dispatch(
      { method: "POST", path: "/", headers: [], body: "{}" },
      {
        onResponseStart: (value) => (status = value),
        onResponseData: (chunk) => chunks.push(chunk),
        onResponseEnd: () => resolve({ status, body: Buffer.concat(chunks).toString("latin1") }),
        onResponseError: (error) =>
          resolve({ error: String((error as NodeJS.ErrnoException).code) }),
      },
    ),
  );
}

/** What Node's own client makes of it. */
function askNodeBySocket(port: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const failed = (error: NodeJS.ErrnoException): void => resolve({ error: String(error.code) });
    request({ port, host: "127.0.0.1", method: "POST", agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("error", failed).on("data", (chunk: Buffer) => chunks.push(chunk));
      const body = (): string => Buffer.concat(chunks).toString("latin1");
      response.on("end", () => resolve({ status: response.statusCode!, body: body() }));
    })
      .on("error", failed)
      .end("{}");
  });
}

/** Writes in pieces of this size, each of them in a packet of its own, then ends. */
async function writePieces(socket: Socket, text: string, size: number): Promise<void> {
  for (let at = 0; at < text.length; at += size) {
    socket.write(text.slice(at, at + size), "latin1");
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
}

const body = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "\xff", "0", ":"), maxLength: 60 });
const chunked = fc
  .array(
    body.filter((text) => text.length > 0),
    { maxLength: 4 },
  )
  .map((parts) =>
    [...parts.map((part) => `${part.length.toString(16)};x=y\r\n${part}\r\n`), "0\r\n\r\n"].join(
      "",
    ),
  );
const framed = fc.oneof(
  body.map((text) => `content-length: ${text.length}\r\n\r\n${text}`),
  body.map((text) => `connection: close\r\n\r\n${text}`),
  chunked.map((text) => `Transfer-Encoding: chunked\r\n\r\n${text}`),
);
const response = fc
  .tuple(
    fc.constantFrom("", "HTTP/1.1 103 Early\r\nlink: x\r\n\r\n"),
    fc.integer({ min: 200, max: 599 }),
    framed,
  )
  .filter(([, status]) => status !== 204 && status !== 304)
  .map(([early, status, rest]) => `${early}HTTP/1.1 ${status} Fine\r\nx-y:  z \r\n${rest}`);
const size = fc.integer({ min: 1, max: 40 });

describe("what a server sends over a socket is read as node:http reads it", () => {
  it("in whatever pieces it comes", async () => {
    await fc.assert(
      fc.asyncProperty(response, size, async (text, piece) => {
        const server = await serveRaw((socket) => void writePieces(socket, text, piece));
        const [ours, nodes] = await Promise.all([
          askBySocket(server.port),
          askNodeBySocket(server.port),
        ]);
        await server.close();
        expect(ours).toEqual(nodes);
        expect(ours.error).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  it("or not at all, when bytes of it are changed", async () => {
    let read = 0;
    const broken = fc
      .tuple(
        response,
        fc.nat(),
        fc.constantFrom("\r", "\n", " ", "0", ":", "\x00", "\r\n", "content-length: 3\r\n"),
      )
      .map(([text, at, what]) => {
        const place = at % text.length;
        return text.slice(0, place) + what + text.slice(place + (what.length > 2 ? 0 : 1));
      });
    await fc.assert(
      fc.asyncProperty(broken, size, async (text, piece) => {
        const server = await serveRaw((socket) => void writePieces(socket, text, piece));
        const [ours, nodes] = await Promise.all([
          askBySocket(server.port),
          askNodeBySocket(server.port),
        ]);
        await server.close();
        const areRead = ours.error === undefined && nodes.error === undefined;
        if (areRead) read++;
        expect(areRead ? ours : nodes).toEqual(nodes);
      }),
      { numRuns: 300 },
    );
    expect(read).toBeGreaterThan(30);
  });
});
