import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { LostConnections } from "../../../core/workers/lost-connections.ts";
import { until } from "../../kit/until.ts";

/** A client, and its connection as the primary has it. */
interface Pair {
  readonly client: Socket;
  readonly lost: Socket;
  readonly closed: Promise<unknown>;
  /** How often it was answered. */
  readonly answers: () => number;
}

async function connectPair(): Promise<Pair> {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  const [lost] = await accepted;
  onTestFinished(() => void lost.destroy());
  let text = "";
  client.setEncoding("latin1").on("data", (piece: string) => (text += piece));
  client.on("error", () => {});
  const closed = new Promise((resolve) => client.once("close", resolve));
  return { client, lost, closed, answers: () => text.split("HTTP/1.1 503 ").length - 1 };
}

const connectPairs = (count: number): Promise<Pair[]> =>
  Promise.all(Array.from({ length: count }, connectPair));

it("further connections than may wait are answered and closed", async () => {
  const pairs = await connectPairs(4);
  const connections = new LostConnections(2);
  for (const { lost } of pairs) connections.take(lost);
  await Promise.all(pairs.slice(2).map(({ closed }) => closed));
  await until(() => pairs.every(({ answers }) => answers() === 1));
  expect(pairs.map(({ client }) => client.readyState)).toEqual([
    "open",
    "open",
    "closed",
    "closed",
  ]);
  // A place is free again.
  pairs[0]!.client.destroy();
  await until(() => pairs[0]!.lost.closed);
  const [further] = await connectPairs(1);
  connections.take(further!.lost);
  await until(() => further!.answers() === 1);
  connections.close();
  await Promise.all([pairs[1]!, further!].map(({ closed }) => closed));
  expect([pairs[1]!.answers(), further!.answers()]).toEqual([1, 1]);
});

it("what is taken when all is over is answered and closed", async () => {
  const connections = new LostConnections();
  connections.close();
  const [{ lost, closed, answers }] = (await connectPairs(1)) as [Pair];
  connections.take(lost);
  await closed;
  expect(answers()).toBe(1);
});

it("a client that never stops to send is read for a bound of bytes, and closed", async () => {
  const connections = new LostConnections();
  const [{ client, lost, closed, answers }] = (await connectPairs(1)) as [Pair];
  connections.take(lost);
  const piece = Buffer.alloc(1024 * 1024, "a");
  const flood = (): void => {
    while (client.writable && client.write(piece));
  };
  client.on("drain", flood);
  flood();
  await closed;
  expect(lost.bytesRead).toBeGreaterThan(8 * 1024 * 1024);
  expect(lost.bytesRead).toBeLessThan(9 * 1024 * 1024);
  expect(answers()).toBe(2);
});

it("a client that closes, as it was told, gets no second answer", async () => {
  const connections = new LostConnections();
  const [{ client, lost, closed, answers }] = (await connectPairs(1)) as [Pair];
  client.write("POST /mcp HTTP/1.1\r\n\r\n");
  connections.take(lost);
  await until(() => answers() === 1);
  client.end();
  await closed;
  expect(answers()).toBe(1);
});
