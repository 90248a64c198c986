import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** `NotificationResponse` of PostgreSQL's protocol. */
const NOTIFICATION = "A".charCodeAt(0);

/** Stands between gateways and a server. */
export interface Pooler {
  /** The URL of the server, through this. */
  url(server: string): string;
  /** Whether notifications pass. */
  passes: boolean;
  /** Breaks all connections. */
  cut(): void;
}

/** What a pooler in transaction mode does with notifications: nothing. All else passes. */
export async function startPooler(port: number, passes: boolean): Promise<Pooler> {
  const sockets = new Set<Socket>();
  const pooler = {
    passes,
    cut: () => [...sockets].forEach((socket) => socket.destroy()),
    url: (server: string) =>
      server.replace(`:${port}/`, `:${(entry.address() as AddressInfo).port}/`),
  };
  const entry = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => [client, server].forEach((each) => each.destroy()));
    }
    client.pipe(server);
    const messages = new Messages();
    server.on("data", (chunk: Buffer) => {
      for (const message of messages.split(chunk))
        if (pooler.passes || message[0] !== NOTIFICATION) client.write(message);
    });
  }).listen(0, "127.0.0.1");
  await once(entry, "listening");
  onTestFinished(async () => {
    pooler.cut();
    await new Promise((closed) => entry.close(closed));
  });
  return pooler;
}

/** What a server sends, message by message: a letter, and four bytes of length. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);

  split(chunk: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const messages: Buffer[] = [];
    while (this.#rest.length >= 5 && this.#rest.length > this.#rest.readInt32BE(1)) {
      const length = this.#rest.readInt32BE(1) + 1;
      messages.push(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
    }
    return messages;
  }
}
