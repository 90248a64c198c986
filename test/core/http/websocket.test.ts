import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { setupGateway, openResources } from "propylon/testing";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import {
  definePlugin,
  type AnyPlugin,
  type RouteOptions,
  type Socket,
} from "../../../core/index.ts";
import { Authenticators } from "propylon/kit";
import { leakedResources } from "../../../core/testing/handles.ts";
import { deferred } from "../../kit/deferred.ts";
import { ask, exchange, parseAnswer } from "./wire.ts";

const KEY = "a+key/with=odd:chars";

/** A plugin that echoes on `/echo`, and what it saw. */
function echo(options: Partial<Omit<RouteOptions, "websocket">> = {}): {
  plugin: AnyPlugin;
  sockets: Socket[];
  closed: Socket[];
} {
  const sockets: Socket[] = [];
  const closed: Socket[] = [];
  const plugin = definePlugin({
    name: "echo",
    setup(gateway) {
      gateway.route(
        "GET",
        "/echo",
        { access: "viewer", mutates: false, ...options, websocket: true },
        (socket) => {
          sockets.push(socket);
          socket.onMessage((text) => socket.send(`${socket.principal.id}: ${text}`));
          socket.onClose(() => void closed.push(socket));
        },
      );
    },
  });
  return { plugin, sockets, closed };
}

async function open(url: string, protocols: string[] = [], headers = {}): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, "ws"), protocols, { headers });
  await once(socket, "open");
  return socket;
}

async function say(socket: WebSocket, text: string): Promise<string> {
  socket.send(text);
  const [data] = (await once(socket, "message")) as [Buffer];
  return data.toString();
}

const closeOf = async (socket: WebSocket): Promise<number> =>
  ((await once(socket, "close")) as [number])[0];

/** A plugin that takes its time to say who somebody is. */
function slowDoor(): { door: AnyPlugin; asked: Promise<void>; letIn: () => void } {
  const { promise: asked, resolve: tell } = deferred();
  const { promise: waiting, resolve: letIn } = deferred();
  const door = definePlugin({
    name: "door",
    setup: (gateway) =>
      gateway.add(Authenticators, {
        name: "door",
        async authenticate() {
          tell();
          await waiting;
          return { id: "ada", kind: "user", roles: new Set(["caller"]) };
        },
      }),
  });
  return { door, asked, letIn: () => letIn() };
}

/** Raw handshake lines, to see the answer to one that is refused. */
function handshake(port: number, ...more: string[]): string[] {
  return [
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...more,
  ];
}

async function refusalOf(port: number, path: string, lines: readonly string[]): Promise<unknown> {
  const head = [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  const { status, body } = parseAnswer(await exchange(port, head));
  return { status, code: (JSON.parse(body) as { error: { code: string } }).error.code };
}

const portOf = (url: string): number => Number(new URL(url).port);

describe("a route with websocket: true", () => {
  it("exchanges messages, tells the URL, and both ends hear of the end", async () => {
    const { plugin, sockets, closed } = echo();
    const { url } = await setupGateway({ plugins: [plugin] });
    const socket = await open(`${url}/echo?room=1`);
    expect(await say(socket, "hello")).toBe("anonymous: hello");
    expect(sockets[0]!.url.searchParams.get("room")).toBe("1");
    expect(sockets[0]!.buffered).toBe(0);
    sockets[0]!.close(4000, "enough");
    expect(await closeOf(socket)).toBe(4000);
    await expect.poll(() => closed).toEqual(sockets);
    sockets[0]!.send("nobody hears this");
  });

  it("is a route of the gateway, so that whoever looks through its routes finds it", async () => {
    const { gateway } = await setupGateway({ plugins: [echo().plugin] });
    expect(gateway.describe().routes).toContainEqual(
      expect.objectContaining({ method: "GET", path: "/echo", access: "viewer", socket: true }),
    );
  });

  it("T6: refuses a hostile Host or Origin before the handshake, and takes its own", async () => {
    const { plugin, sockets } = echo();
    const { url } = await setupGateway({ plugins: [plugin] });
    const port = portOf(url);
    const forbidden = { status: 403, code: "forbidden" };
    expect(await refusalOf(port, "/echo", handshake(port, "Origin: http://evil.example"))).toEqual(
      forbidden,
    );
    expect(await refusalOf(port, "/echo", handshake(port, "Origin: null"))).toEqual(forbidden);
    const [, ...rest] = handshake(port);
    expect(await refusalOf(port, "/echo", ["Host: evil.example", ...rest])).toEqual(forbidden);
    expect(sockets).toEqual([]);
    const own = await open(`${url}/echo`, [], { origin: url });
    own.terminate();
  });

  it("answers in the envelope where no WebSocket is: elsewhere, at MCP endpoints, in a broken handshake", async () => {
    const { url } = await setupGateway({ plugins: [echo().plugin], client: false });
    const port = portOf(url);
    for (const path of ["/other", "/echo/", "/echo%2f", "/livez"])
      expect(await refusalOf(port, path, handshake(port))).toEqual({
        status: 404,
        code: "not_found",
      });
    expect(await refusalOf(port, "/mcp", handshake(port))).toEqual({
      status: 400,
      code: "bad_request",
    });
    const old = handshake(port).map((line) => line.replace("Version: 13", "Version: 1"));
    expect(await refusalOf(port, "/echo", old)).toEqual({ status: 400, code: "bad_request" });
  });

  it("lets in by header or by subprotocol, and never says the token back", async () => {
    const { plugin } = echo();
    const config = { auth: { apiKey: KEY } };
    const { url } = await setupGateway({ plugins: [plugin], config, client: false });
    const port = portOf(url);
    const token = (key: string): string => `bearer.${Buffer.from(key).toString("base64url")}`;
    expect(await refusalOf(port, "/echo", handshake(port))).toEqual({
      status: 401,
      code: "unauthorized",
    });
    const wrong = `Sec-WebSocket-Protocol: propylon, ${token("wrong")}`;
    expect(await refusalOf(port, "/echo", handshake(port, wrong))).toEqual({
      status: 401,
      code: "unauthorized",
    });
    const query = `/echo?access_token=${encodeURIComponent(KEY)}`;
    expect(await refusalOf(port, query, handshake(port))).toMatchObject({ status: 401 });
    const socket = await open(`${url}/echo`, ["propylon", token(KEY)]);
    expect(socket.protocol).toBe("propylon");
    expect(await say(socket, "hello")).toMatch(/: hello$/);
    socket.terminate();
  });

  it("tells the parameters of its path, decoded, and matches whole segments only", async () => {
    const seen: unknown[] = [];
    const plugin = definePlugin({
      name: "rooms",
      setup(gateway) {
        const policy = { access: "viewer", mutates: false, websocket: true } as const;
        const accept = ({ params }: Socket): void => void seen.push(params);
        gateway.route("GET", "/rooms/:room/seats/:slot", policy, accept);
        gateway.route("GET", "/rooms/all/seats/1", policy, accept);
      },
    });
    const { url, gateway } = await setupGateway({ plugins: [plugin] });
    for (const path of ["/rooms/a%2Fb%20c/seats/7", "/rooms/all/seats/1", "/rooms/:room/seats/x"])
      await open(`${url}${path}`);
    await expect.poll(() => seen.length).toBe(3);
    expect(seen).toEqual([{ room: "a/b c", slot: "7" }, {}, { room: ":room", slot: "x" }]);
    for (const path of [
      "/rooms//seats/7",
      "/rooms/a/seats",
      "/rooms/a/seats/7/8",
      "/rooms/%/seats/7",
    ])
      expect(await refusalOf(portOf(url), path, handshake(portOf(url)))).toMatchObject({
        status: 404,
      });
    const other = definePlugin({
      name: "other",
      setup: (context) =>
        context.route(
          "GET",
          "/rooms/:x/seats/:y",
          { access: "viewer", mutates: false, websocket: true },
          () => {},
        ),
    });
    await gateway.close();
    await expect(setupGateway({ plugins: [plugin, other] })).rejects.toThrow("taken");
  });

  it("M159: a path of the management is gone with it, and one that changes things obeys read-only", async () => {
    const hidden = echo({ management: true });
    const off = await setupGateway({
      plugins: [hidden.plugin],
      config: { management: { enabled: false } },
    });
    expect(await refusalOf(portOf(off.url), "/echo", handshake(portOf(off.url)))).toMatchObject({
      status: 404,
    });
    const writing = echo({ mutates: true });
    const readOnly = await setupGateway({
      plugins: [writing.plugin],
      config: { management: { readOnly: true } },
    });
    const port = portOf(readOnly.url);
    expect(await refusalOf(port, "/echo", handshake(port))).toEqual({
      status: 403,
      code: "read_only",
    });
  });

  it("bounds messages by limits.body and takes text only", async () => {
    const { plugin } = echo();
    const { url } = await setupGateway({
      plugins: [plugin],
      config: { limits: { body: 100 } },
      client: false,
    });
    const long = await open(`${url}/echo`);
    long.send("x".repeat(101));
    expect(await closeOf(long)).toBe(1009);
    const binary = await open(`${url}/echo`);
    binary.send(Buffer.from("hello"));
    expect(await closeOf(binary)).toBe(1003);
  });

  it("keeps a connection through a reload that leaves its plugin alone, and closes it when the plugin goes", async () => {
    const { plugin } = echo();
    const { gateway, url } = await setupGateway({ plugins: [plugin] });
    const socket = await open(`${url}/echo`);
    const config = { listeners: { main: { port: 0 } } };
    await gateway.apply({ ...config, plugins: { echo: {} }, timeouts: { setup: 11 } });
    expect(await say(socket, "still")).toBe("anonymous: still");
    const closed = closeOf(socket);
    await gateway.apply({ ...config, plugins: { echo: false } });
    expect(await closed).toBe(1001);
  });

  it("says 1001 at shutdown, cuts off who does not answer, and leaves nothing open", async () => {
    const before = openResources();
    const { plugin, closed } = echo();
    const { gateway, url } = await setupGateway({ plugins: [plugin], client: false });
    const polite = await open(`${url}/echo`);
    const mute = await open(`${url}/echo`);
    mute.pause();
    const code = closeOf(polite);
    await gateway.close({ grace: 5_000 });
    expect(await code).toBe(1001);
    expect(closed).toHaveLength(2);
    mute.terminate();
    expect(await leakedResources(before)).toEqual([]);
  });

  it("ends what a handshake opens that was waiting when the shutdown came", async () => {
    const { door, asked, letIn } = slowDoor();
    const plugins = [echo().plugin, door];
    const { gateway, url } = await setupGateway({ plugins, client: false });
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/echo`);
    const code = closeOf(socket);
    await asked;
    const closed = gateway.close({ grace: 5_000 });
    letIn();
    expect(await code).toBe(1001);
    await closed;
  });

  it("asks again about a handshake that waited while a reload took its path", async () => {
    const { door, asked, letIn } = slowDoor();
    const { plugin, sockets } = echo();
    const { gateway, url } = await setupGateway({ plugins: [plugin, door], client: false });
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/echo`);
    socket.on("error", () => {});
    const refused = once(socket, "unexpected-response");
    await asked;
    const { echo: _, ...plugins } = gateway.written.plugins!;
    await gateway.apply({ ...gateway.written, plugins });
    letIn();
    const [, { statusCode }] = (await refused) as [unknown, IncomingMessage];
    expect([statusCode, sockets]).toEqual([404, []]);
  });

  it("gives a handshake that waited while a reload changed its plugin to that of now", async () => {
    const { door, asked, letIn } = slowDoor();
    const greeter = definePlugin({
      name: "greeter",
      config: z.strictObject({ word: z.string() }),
      setup: (gateway) =>
        gateway.route(
          "GET",
          "/greet",
          { access: "viewer", mutates: false, websocket: true },
          (socket) => socket.send(gateway.config.word),
        ),
    });
    const { gateway, url } = await setupGateway({
      plugins: [greeter, door],
      config: { plugins: { greeter: { word: "old" } } },
      client: false,
    });
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/greet`);
    const said = once(socket, "message");
    await asked;
    const plugins = { ...gateway.written.plugins, greeter: { word: "new" } };
    await gateway.apply({ ...gateway.written, plugins });
    letIn();
    expect(String((await said)[0])).toBe("new");
    socket.terminate();
  });

  it("closes the connection of a plugin that fails, at once or later, and serves on", async () => {
    const fail = (): never => {
      throw new Error("canary");
    };
    const policy = { access: "viewer", mutates: false, websocket: true } as const;
    const failing = definePlugin({
      name: "failing",
      setup(gateway) {
        gateway.route("GET", "/now", policy, fail);
        gateway.route("GET", "/later", policy, () => Promise.resolve().then(fail));
      },
    });
    const { url } = await setupGateway({ plugins: [failing, echo().plugin], client: false });
    for (const path of ["/now", "/later"]) {
      const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`);
      expect(await closeOf(socket)).toBe(1011);
    }
    const socket = await open(`${url}/echo`);
    expect(await say(socket, "hello")).toMatch(/: hello$/);
    socket.terminate();
  });

  it("leaves h2c offers on HTTP/1.1, body and all, although it now listens for upgrades", async () => {
    const { url } = await setupGateway({ plugins: [echo().plugin], client: false });
    const port = portOf(url);
    const answer = await ask(
      port,
      "POST /mcp HTTP/1.1",
      [
        `Host: 127.0.0.1:${port}`,
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
      ],
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    );
    expect(JSON.parse(answer.body)).toMatchObject({ id: 1 });
  });

  it.each([
    ["/a/x:b", { access: "viewer", mutates: false }, "more than plain segments"],
    ["/a/*", { access: "viewer", mutates: false }, "more than plain segments"],
    ["/a", { mutates: false }, "no access policy"],
    ["/a", { access: "viewer" }, "changes anything"],
    ["/a", { access: "viewer", mutates: false, listener: "x" }, "unknown listener"],
    ["/mcp", { access: "viewer", mutates: false }, "taken"],
  ])("refuses %s with %j", async (path, options, message) => {
    const wrong = definePlugin({
      name: "wrong",
      setup: (gateway) =>
        gateway.route("GET", path, { ...options, websocket: true } as never, () => {}),
    });
    await expect(setupGateway({ plugins: [wrong] })).rejects.toThrow(message);
  });
});
