import { subscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setupGateway, openResources } from "propylon/testing";
import { expect, it, onTestFinished } from "vitest";
import { collectGarbage } from "../../fixtures/garbage.ts";
import { WebSocket } from "ws";
import { definePlugin, type PluginContext } from "propylon";
import { leakedResources } from "../../../core/testing/handles.ts";
import events from "../../../plugins/events/index.ts";
import { PATH, readSocket, readSse } from "./readers.ts";

const MIB = 1_048_576;

/** A plugin whose door the test uses: it switches flags that nobody has, as fast as it is told. */
function switcher(): { plugin: ReturnType<typeof definePlugin>; flood: (bytes: number) => number } {
  let door: PluginContext;
  const plugin = definePlugin({ name: "switcher", setup: (gateway) => void (door = gateway) });
  const tool = "x".repeat(1_000);
  return {
    plugin,
    flood(bytes) {
      let sent = 0;
      for (; sent * tool.length < bytes; sent++)
        door.emit("gating:changed", { server: "a", tool, enabled: true, by: "test" });
      return sent;
    },
  };
}

/** A reader that sends its request and then never reads, with a small window at its own end. */
async function stall(url: string, head: readonly string[] = []): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write([`GET ${PATH} HTTP/1.1`, `Host: ${host}`, ...head, "", ""].join("\r\n"));
  await once(socket, "readable");
  socket.on("error", () => {});
  return socket;
}

/** The gateway's ends of all connections. */
const accepted: Socket[] = [];
subscribe("net.server.socket", (message) => {
  accepted.push((message as { socket: Socket }).socket);
});

const HANDSHAKE = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

async function open(count: number, openOne: () => Promise<() => void>): Promise<(() => void)[]> {
  const closers: (() => void)[] = [];
  while (closers.length < count)
    closers.push(...(await Promise.all(Array.from({ length: 50 }, () => openOne()))));
  return closers;
}

it.each([
  [
    "server-sent events",
    async (url: string) => {
      const socket = await stall(url);
      socket.resume();
      return () => void socket.destroy();
    },
  ],
  [
    "WebSockets",
    async (url: string) => {
      const socket = new WebSocket(`${url.replace("http", "ws")}${PATH}`);
      await once(socket, "message");
      return () => socket.terminate();
    },
  ],
] as const)(
  "M074: 1,000 idle %s cost little, all hear of an event, and nothing is left when they go",
  async (_name, openOne) => {
    const before = openResources();
    const { plugin, flood } = switcher();
    const { gateway, url } = await setupGateway({ plugins: [events, plugin], client: false });
    const closers = await open(50, () => openOne(url));
    collectGarbage();
    const { heapUsed } = process.memoryUsage();
    closers.push(...(await open(950, () => openOne(url))));
    collectGarbage();
    // Both ends of every connection are in this process.
    const each = (process.memoryUsage().heapUsed - heapUsed) / 950;
    expect(each).toBeLessThan(40_000);
    const watcher = await readSse(url);
    flood(1);
    await watcher.find("state_changed");
    for (const close of closers) close();
    await gateway.close({ grace: 5_000 });
    watcher.close();
    expect(await leakedResources(before)).toEqual([]);
  },
);

it.each([
  ["server-sent events", []],
  ["WebSocket", HANDSHAKE],
])(
  "a stalled reader of %s holds at most 1 MiB and is cut off, while others miss nothing",
  async (_name, head) => {
    const { plugin, flood } = switcher();
    const { url } = await setupGateway({ plugins: [events, plugin], client: false });
    const [sse, socket] = [await readSse(url), await readSocket(url)];
    const stalled = await stall(url, head);
    // The latest: the system gives a port of an earlier test again.
    const serverSide = accepted.findLast(({ remotePort }) => remotePort === stalled.localPort)!;
    let most = 0;
    // Far more than the queue and the buffers of the system together.
    for (let round = 0; round < 60; round++) {
      const sent = flood(MIB / 4);
      most = Math.max(most, serverSide.writableLength);
      for (const reader of [sse, socket]) {
        await expect.poll(() => reader.kinds().length, { interval: 1 }).toBe(sent);
        reader.events.length = 0;
      }
    }
    expect(most).toBeGreaterThan(0);
    // The last words come on top.
    expect(most).toBeLessThan(MIB + 1_024);
    expect(sse.ended || socket.ended).toBe(false);
    await expect.poll(() => serverSide.destroyed).toBe(true);
    expect(serverSide.bytesWritten).toBeLessThan(15 * MIB);
  },
  60_000,
);

it("a slow reader that does read is told that it was too slow, and can come back", async () => {
  const { plugin, flood } = switcher();
  const { url } = await setupGateway({
    plugins: [[events, { maxEvents: 100_000, maxSize: "64MiB", maxQueue: "64KiB" }], plugin],
    client: false,
  });
  const reader = await readSse(url);
  const sent = flood(MIB);
  const overflow = await reader.find("overflow");
  expect(overflow.data.unsent).toBeLessThanOrEqual(64 * 1024);
  await expect.poll(() => reader.ended).toBe(true);
  const read = reader.kinds().filter((kind) => kind === "state_changed").length;
  expect(read).toBeLessThan(sent);
  const last = reader.events.findLast(({ event }) => event === "state_changed")!.id!;
  const socket = await readSocket(url, { query: `lastEventId=${last}` });
  await expect
    .poll(() => socket.kinds().filter((kind) => kind === "state_changed").length + read)
    .toBeGreaterThan(read);
});

it("progress gives way before anything else, and a gap says how much", async () => {
  const { plugin, flood } = switcher();
  const noisy = definePlugin({
    name: "noisy",
    setup: (gateway) =>
      gateway.tool("count", {
        description: "Reports a lot.",
        run: (_args, call) => {
          for (let step = 0; step < 2_000; step++)
            call.progress?.({ progress: step, message: "x".repeat(100) });
          return "done";
        },
      }),
  });
  const { gateway, url } = await setupGateway({
    plugins: [[events, { maxQueue: "64KiB", heartbeatInterval: "100ms" }], plugin, noisy],
    client: false,
  });
  const reader = await readSse(url, { query: "kinds=progress,state_changed" });
  await gateway.call({ server: "noisy", name: "count", progress: () => {} });
  flood(1);
  await reader.find("gap");
  await reader.find("state_changed");
  const reported = (): number => reader.kinds().filter((kind) => kind === "progress").length;
  const missed = (): number =>
    reader.events.reduce(
      (sum, { event, data }) =>
        sum + (event === "gap" && data.reason === "slow" ? data.missed! : 0),
      0,
    );
  expect(reported()).toBeGreaterThan(100);
  // A start, 2,000 reports, an end.
  await expect.poll(() => reported() + missed()).toBe(2_002);
  expect(reader.ended).toBe(false);
});

it("refuses one stream too many", async () => {
  const { url } = await setupGateway({ plugins: [[events, { maxStreams: 1 }]], client: false });
  const first = await readSse(url);
  const second = await fetch(`${url}${PATH}`);
  expect(second.status).toBe(429);
  expect(second.headers.get("retry-after")).toBe("5");
  const socket = new WebSocket(`${url.replace("http", "ws")}${PATH}`);
  expect((await once(socket, "close"))[0]).toBe(1013);
  first.close();
  await expect
    .poll(async () => (await fetch(`${url}${PATH}`, { method: "HEAD" })).status)
    .toBe(200);
});
