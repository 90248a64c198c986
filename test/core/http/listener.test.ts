import { once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { GatewayError } from "propylon";
import { afterEach, describe, expect, it } from "vitest";
import {
  ANYONE,
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

/**
 * Clients in a thread of their own: half of them keep a connection on which they were answered, half connect when told to. Each
 * then sends a request, and tells what came back.
 */
const CLIENTS = `
  const { connect } = require("node:net");
  const { once } = require("node:events");
  const { parentPort, workerData } = require("node:worker_threads");
  const { port, count, request, turn, KEPT, SENT } = workerData;
  const message = request + "\\r\\nContent-Length: 2\\r\\n\\r\\nhi";
  const open = async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const openMany = () => Promise.all(Array.from({ length: count }, open));
  const read = (socket) => new Promise((resolve) => {
    let text = "";
    socket.on("data", (bytes) => (text += bytes));
    socket.once("close", () => resolve(text));
  });
  (async () => {
    const kept = await openMany();
    await Promise.all(kept.map((socket) => (socket.write(message), once(socket, "data"))));
    parentPort.postMessage("ready");
    Atomics.wait(turn, 0, KEPT);
    const sockets = [...kept, ...(await openMany())];
    const answers = Promise.all(sockets.map(read));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(message, resolve))));
    Atomics.store(turn, 0, SENT);
    Atomics.notify(turn, 0);
    parentPort.postMessage(await answers);
  })();
`;

describe("Listener", () => {
  it("serves an endpoint by exact path, the query left aside, and everything else through fetch", async () => {
    await open();
    expect(await ask(rig.port, "POST /mcp?x=1 HTTP/1.1", [local()], "hello")).toMatchObject({
      status: 200,
      body: "size 5",
    });
    expect(await ask(rig.port, "GET /other?x HTTP/1.1", [local()])).toMatchObject({
      status: 200,
      body: expect.stringContaining("route /other\r\n"),
    });
    expect(await ask(rig.port, "GET /mcp/ HTTP/1.1", [local()])).toMatchObject({
      body: expect.stringContaining("route /mcp/\r\n"),
    });
  });

  it.each(["/mcp", "/livez", "/readyz", "/route", "/nothing", "/"])(
    "T6: refuses a hostile Host or Origin at %s",
    async (path) => {
      await open();
      for (const method of ["GET", "POST", "DELETE", "OPTIONS", "PUT"]) {
        const hostile = [
          ["Host: evil.example"],
          [local(), "Origin: http://evil.example"],
          [local(), "Origin: null"],
        ];
        for (const headers of hostile) {
          const answer = await ask(rig.port, `${method} ${path} HTTP/1.1`, headers);
          expect(answer.status, `${method} ${headers.join()}`).toBe(403);
          expect(JSON.parse(answer.body)).toMatchObject(
            path === "/mcp"
              ? { jsonrpc: "2.0", id: null, error: { data: { code: "forbidden" } } }
              : { ok: false, error: { code: "forbidden" } },
          );
          expect(answer.head).not.toMatch(/access-control-allow-origin/i);
        }
      }
      expect(rig.reached).toEqual([]);
    },
  );

  it("answers 400 for a missing, empty or double Host", async () => {
    await open();
    expect(await ask(rig.port, "GET / HTTP/1.1")).toMatchObject({
      status: 400,
      body: expect.stringContaining("bad_request"),
    });
    expect(await ask(rig.port, "GET / HTTP/1.0")).toMatchObject({ status: 400 });
    expect(await ask(rig.port, "GET / HTTP/1.1", ["Host:"])).toMatchObject({ status: 400 });
    for (const pair of [
      [local(), "Host: evil.example"],
      ["Host: evil.example", local()],
      [local(), local()],
    ]) {
      expect((await ask(rig.port, "GET / HTTP/1.1", pair)).status).toBe(403);
    }
    expect(rig.reached).toEqual([]);
  });

  it("takes an absolute-form target only for its own host", async () => {
    await open();
    expect(
      await ask(rig.port, `POST http://127.0.0.1:${rig.port}/mcp HTTP/1.1`, [local()], "ab"),
    ).toMatchObject({ body: "size 2" });
    expect(await ask(rig.port, "GET http://evil.example/mcp HTTP/1.1", [local()])).toMatchObject({
      status: 403,
    });
    expect(
      await ask(rig.port, `GET http://127.0.0.1:${rig.port}/mcp HTTP/1.1`, ["Host: evil.example"]),
    ).toMatchObject({ status: 403 });
  });

  it("answers the preflight of an allowed origin and lets its page read the session id", async () => {
    await open({ listener: { allowedOrigins: ["https://app.example"] } });
    const origin = "Origin: https://app.example";
    const wants = [
      "Access-Control-Request-Method: POST",
      "Access-Control-Request-Headers: authorization, mcp-session-id",
    ];
    const preflight = await ask(rig.port, "OPTIONS /mcp HTTP/1.1", [local(), origin, ...wants]);
    expect(preflight.status).toBe(204);
    expect(preflight.head).toMatch(/access-control-allow-origin: https:\/\/app\.example\r\n/i);
    expect(preflight.head).toMatch(
      /access-control-allow-headers: authorization, mcp-session-id\r\n/i,
    );
    expect(rig.reached).toEqual([]);
    for (const path of ["/mcp", "/route"]) {
      const answer = await ask(rig.port, `POST ${path} HTTP/1.1`, [local(), origin], "x");
      expect(answer.status).toBe(200);
      expect(answer.head).toMatch(
        /access-control-expose-headers: .*Mcp-Session-Id.*WWW-Authenticate/i,
      );
      expect(answer.head).toMatch(/vary: Origin/i);
    }
  });

  it("answers /livez and /readyz, the latter with its checks", async () => {
    await open();
    expect(await ask(rig.port, "GET /livez HTTP/1.1", [local()])).toMatchObject({
      status: 200,
      body: "ok\n",
    });
    expect(await ask(rig.port, "GET /readyz?verbose HTTP/1.1", [local()])).toMatchObject({
      status: 200,
      body: "[+] config applied\n[+] accepting work\nok\n",
    });
    expect(await ask(rig.port, "POST /livez HTTP/1.1", [local()])).toMatchObject({ status: 405 });
    rig.listener.drain();
    expect((await ask(rig.port, "GET /livez HTTP/1.1", [local()])).status).toBe(200);
    expect(await ask(rig.port, "GET /readyz?verbose HTTP/1.1", [local()])).toMatchObject({
      status: 503,
      body: "[+] config applied\n[-] accepting work\nnot ready\n",
    });
  });

  it("sends the error's own headers, problem+json on request, and the cause of nothing", async () => {
    const denial = new GatewayError("unauthorized", "Who are you?", {
      headers: { "www-authenticate": 'Bearer realm="x"' },
    });
    await open({
      app: {
        authenticate: () => Promise.reject(denial),
        fetch: () => {
          throw new Error("the database password is hunter2");
        },
      },
    });
    const denied = await ask(rig.port, "POST /mcp HTTP/1.1", [local()], "x");
    expect(denied).toMatchObject({ status: 401, body: expect.stringContaining("Who are you?") });
    expect(denied.head).toMatch(/www-authenticate: Bearer realm="x"/i);
    const broken = await ask(rig.port, "GET /x HTTP/1.1", [
      local(),
      "Accept: application/problem+json",
    ]);
    expect(broken.status).toBe(500);
    expect(broken.head).toMatch(/content-type: application\/problem\+json/i);
    expect(JSON.parse(broken.body)).toMatchObject({
      title: "internal",
      status: 500,
      detail: "Internal error.",
    });
    expect(rig.log.filter(({ level }) => level >= 50)).toHaveLength(1);
  });

  it("an aborted upload is one debug line and no stack", async () => {
    await open();
    const socket = connect(rig.port, "127.0.0.1");
    socket.write(`POST /mcp HTTP/1.1\r\n${local()}\r\nContent-Length: 100\r\n\r\nhalf`);
    await expect.poll(() => rig.reached).toHaveLength(1);
    socket.resetAndDestroy();
    await expect.poll(() => rig.log).toHaveLength(1);
    await rig.listener.close(2_000);
    expect(rig.log.map(({ level, msg }) => ({ level, msg }))).toEqual([
      { level: 20, msg: "client went away" },
    ]);
  });

  it("stays on HTTP/1.1 when asked to upgrade to h2c, and refuses WebSocket and CONNECT", async () => {
    await open();
    const h2c = await ask(
      rig.port,
      "POST /mcp HTTP/1.1",
      [local(), "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"],
      "abc",
    );
    expect(h2c).toMatchObject({ status: 200, body: "size 3" });
    const socket = await ask(rig.port, "GET /mcp HTTP/1.1", [
      local(),
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
    ]);
    expect(socket.status).toBe(400);
    expect(
      parseAnswer(
        await exchange(rig.port, `CONNECT evil.example:443 HTTP/1.1\r\n${local()}\r\n\r\n`),
      ).status,
    ).toBe(405);
  });

  it("swaps the app between two requests of one connection", async () => {
    await open();
    const socket = connect(rig.port, "127.0.0.1");
    socket.write(`GET /a HTTP/1.1\r\n${local()}\r\n\r\n`);
    const [first] = await once(socket, "data");
    rig.listener.swap({
      endpoints: new Map(),
      fetch: () => new Response("second"),
      authenticate: () => ANYONE,
    });
    socket.write(`GET /a HTTP/1.1\r\n${local()}\r\nConnection: close\r\n\r\n`);
    expect(String(first)).toContain("route /a");
    expect(await drainSocket(socket)).toContain("second");
  });

  it("answers 503 with Retry-After before the first app and while draining", async () => {
    await open({ bare: true });
    const early = await ask(rig.port, "POST /mcp HTTP/1.1", [local()], "x");
    expect(early).toMatchObject({ status: 503, body: expect.stringContaining("starting") });
    expect(await ask(rig.port, "GET /readyz?verbose HTTP/1.1", [local()])).toMatchObject({
      status: 503,
      body: "[-] config applied\n[+] accepting work\nnot ready\n",
    });
    expect((await ask(rig.port, "GET /livez HTTP/1.1", [local()])).status).toBe(200);
    rig.listener.drain();
    const late = await ask(rig.port, "GET /route HTTP/1.1", [local()]);
    expect(late).toMatchObject({ status: 503, body: expect.stringContaining('"draining"') });
    for (const { head } of [early, late]) {
      expect(head).toMatch(/retry-after: \d+/i);
      expect(head).toMatch(/connection: close/i);
    }
  });

  it("says that it will be gone, and serves on, each answer the last of its connection", async () => {
    await open();
    rig.listener.giveNotice();
    expect(await ask(rig.port, "GET /readyz?verbose HTTP/1.1", [local()])).toMatchObject({
      status: 503,
      body: "[+] config applied\n[+] accepting work\n[-] staying: The gateway is about to shut down.\nnot ready\n",
    });
    expect((await ask(rig.port, "GET /livez HTTP/1.1", [local()])).status).toBe(200);
    const socket = connect(rig.port, "127.0.0.1");
    socket.write(`GET /route HTTP/1.1\r\n${local()}\r\n\r\n`);
    const answer = parseAnswer(await drainSocket(socket));
    expect(answer.status).toBe(200);
    expect(answer.head).toMatch(/connection: close/i);
  });

  it("says what is in the way when the port is taken", async () => {
    await open();
    await expect(openRig({ listener: { port: rig.port } })).rejects.toMatchObject({
      code: "io_error",
      message: expect.stringContaining(`port ${rig.port} on 127.0.0.1 is already in use`),
      hint: expect.stringContaining("listeners.main.port"),
    });
  });
});

describe("Listener.close", () => {
  it("finishes a running answer, refuses new work meanwhile and closes idle connections at once", async () => {
    let finish: (response: Response) => void = () => {};
    await open({ app: { fetch: () => new Promise((resolve) => (finish = resolve)) } });
    const idle = connect(rig.port, "127.0.0.1");
    await once(idle, "connect");
    const idleGone = drainSocket(idle);
    const busy = connect(rig.port, "127.0.0.1");
    busy.write(`GET /slow HTTP/1.1\r\n${local()}\r\n\r\n`);
    const answer = drainSocket(busy);
    await ask(rig.port, "GET /livez HTTP/1.1", [local()]);
    rig.listener.drain();
    expect((await ask(rig.port, "GET /new HTTP/1.1", [local()])).status).toBe(503);
    const closed = rig.listener.close(10_000);
    await idleGone;
    finish(new Response("x".repeat(3_000_000)));
    const said = parseAnswer(await answer);
    expect(said.status).toBe(200);
    expect(said.head).toMatch(/connection: close/i);
    expect(said.body).toContain("x".repeat(3_000_000));
    await closed;
    await expect(ask(rig.port, "GET / HTTP/1.1", [local()])).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
  });

  it("R056: answers every request that was sent before it, also on a connection that is not yet accepted", async () => {
    await open();
    const turn = new Int32Array(new SharedArrayBuffer(4));
    const [KEPT, CLOSING, SENT] = [0, 1, 2];
    const request = `POST /x HTTP/1.1\r\n${local()}`;
    const clients = new Worker(CLIENTS, {
      eval: true,
      workerData: { port: rig.port, count: 20, request, turn, KEPT, SENT },
    });
    await once(clients, "message");
    const answers = once(clients, "message");
    // This thread reads and accepts nothing until all is sent.
    Atomics.store(turn, 0, CLOSING);
    Atomics.notify(turn, 0);
    Atomics.wait(turn, 0, CLOSING);
    await rig.listener.close(10_000);
    const [texts] = (await answers) as [string[]];
    expect(texts.map((text) => text.slice(0, 12))).toEqual(
      Array.from({ length: 40 }, () => "HTTP/1.1 503"),
    );
    expect(rig.reached).toHaveLength(20);
  });

  it("cuts off what outlasts the grace period, and always resolves", async () => {
    await open({ app: { fetch: () => new Promise(() => {}) } });
    const busy = connect(rig.port, "127.0.0.1");
    busy.on("error", () => {});
    busy.write(`GET /stuck HTTP/1.1\r\n${local()}\r\n\r\n`);
    await ask(rig.port, "GET /livez HTTP/1.1", [local()]);
    const gone = drainSocket(busy);
    await Promise.all([rig.listener.close(50), rig.listener.close(50)]);
    expect(await gone).toBe("");
    await rig.listener.close(50);
  });
});
