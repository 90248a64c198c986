import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

let failures = 0;

// As with too many files open, or where an upgrade of the package took the file away.
vi.mock(import("../../../core/http/websocket/websockets.ts"), async (original) => {
  const real = await original();
  const openWebSockets: typeof real.openWebSockets = (options) =>
    failures-- > 0
      ? Promise.reject(new Error("EMFILE: too many open files"))
      : real.openWebSockets(options);
  return { ...real, openWebSockets };
});

const echo = definePlugin({
  name: "echo",
  setup: (gateway) =>
    gateway.route("GET", "/echo", { access: "viewer", mutates: false, websocket: true }, (socket) =>
      socket.onMessage((text) => socket.send(text)),
    ),
});

async function start(count: number) {
  failures = count;
  const { gateway, url } = await setupGateway({ plugins: [echo], client: false });
  const open = () => new WebSocket(`${url.replace(/^http/, "ws")}/echo`);
  const statusOf = async (socket: WebSocket): Promise<number | undefined> => {
    socket.on("error", () => {});
    const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
    return answer.statusCode;
  };
  return { gateway, url, open, statusOf };
}

it("web sockets that cannot be loaded refuse one handshake, and the next one tries again", async () => {
  const { gateway, open, statusOf } = await start(1);
  expect(await statusOf(open())).toBe(500);
  await gateway.apply(gateway.written);
  const socket = open();
  await once(socket, "open");
  socket.send("hello");
  const [said] = (await once(socket, "message")) as [Buffer];
  expect(said.toString()).toBe("hello");
  socket.terminate();
});

it("web sockets that cannot be loaded keep no listener open", async () => {
  const { gateway, url, open, statusOf } = await start(10);
  expect([await statusOf(open()), await statusOf(open())]).toEqual([500, 500]);
  await gateway.close();
  await expect(fetch(`${url}/livez`)).rejects.toThrow("fetch failed");
});
