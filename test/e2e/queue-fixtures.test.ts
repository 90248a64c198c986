import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FaultProxy } from "../fixtures/faults/proxy.ts";

let proxy: FaultProxy;
const target = createServer({ allowHalfOpen: true });
/** What the target has received of all connections. */
let received = "";
let served: Socket | undefined;
target.on("connection", (socket) => {
  served = socket;
  socket.on("error", () => undefined);
  socket.on("data", (piece) => {
    received += String(piece);
    socket.write(String(piece).toUpperCase());
  });
  socket.on("end", () => socket.end());
});

beforeEach(async () => {
  received = "";
  target.listen(0, "127.0.0.1");
  await once(target, "listening");
  proxy = await FaultProxy.start((target.address() as AddressInfo).port);
});
afterEach(async () => {
  await proxy.close();
  target.close();
  await once(target, "close");
});

/** A client that has spoken through the proxy once. */
async function speak(): Promise<Socket> {
  const client = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
  client.write("hello");
  expect(String((await once(client, "data"))[0])).toBe("HELLO");
  return client;
}

it("the fault proxy carries both directions, and an orderly end", async () => {
  const client = await speak();
  client.end();
  await once(client, "close");
  await expect.poll(() => proxy.connections).toBe(0);
});

it("a partition holds everything, tells nobody, and lets it through when it heals", async () => {
  const client = await speak();
  proxy.partition();
  const answer = once(client, "data");
  client.write("one");
  const late = connect(proxy.port, "127.0.0.1");
  await once(late, "connect");
  late.write("two");
  const lateAnswer = once(late, "data");
  await expect.poll(() => client.bytesWritten).toBe(8);
  served!.write("unasked");
  expect(received).toBe("hello");
  expect(client.readyState).toBe("open");
  proxy.heal();
  expect(String((await answer)[0])).toMatch(/^(ONE|unasked)/);
  expect(String((await lateAnswer)[0])).toBe("TWO");
  client.destroy();
  late.destroy();
});

it("latency holds up every piece", async () => {
  const client = await speak();
  proxy.delay(60);
  const from = performance.now();
  client.write("slow");
  expect(String((await once(client, "data"))[0])).toBe("SLOW");
  expect(performance.now() - from).toBeGreaterThan(115);
  client.destroy();
});

it("a reset is an error on both sides, a cut is an end, and a refused connection is reset", async () => {
  const client = await speak();
  const failed = once(client, "error");
  proxy.reset();
  expect((await failed)[0]).toMatchObject({ code: "ECONNRESET" });
  await expect.poll(() => served?.closed).toBe(true);
  const other = await speak();
  proxy.cut();
  await once(other, "end");
  other.destroy();
  proxy.refuse();
  const refused = connect(proxy.port, "127.0.0.1");
  expect((await once(refused, "error"))[0]).toMatchObject({ code: "ECONNRESET" });
});

it("half closed, the client hears an end and is still heard", async () => {
  const client = await speak();
  const ended = once(client, "end");
  client.resume();
  proxy.halfClose();
  await ended;
  client.write("still here");
  await expect.poll(() => received).toBe("hellostill here");
  client.destroy();
});
