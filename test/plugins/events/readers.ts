import { once } from "node:events";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { EventMessage, Kind } from "../../../plugins/events/index.ts";
import { until } from "../../kit/until.ts";

/** One reader of the channel, by either transport, with all it read. */
export interface Reader {
  readonly events: EventMessage[];
  /** Whether the stream ended. */
  readonly ended: boolean;
  /** Names of what it read, in order, without what tells of the stream. */
  kinds(): string[];
  /** Data of all events of a kind of a plugin, in order. */
  told(kind: string): readonly Readonly<Record<string, unknown>>[];
  /** The first event of a kind, once it is there. */
  find<K extends Kind>(kind: K): Promise<Extract<EventMessage, { event: K }>>;
  close(): void;
}

export interface ReaderOptions {
  /** Query of the URL, e.g. `kinds=log`. */
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

export const PATH = "/_meta/events";

abstract class Collected {
  readonly events: EventMessage[] = [];
  ended = false;

  kinds(): string[] {
    return this.events.map(({ event }) => event).filter((kind) => kind !== "hello");
  }

  told(kind: string): readonly Readonly<Record<string, unknown>>[] {
    const those = this.events.filter(({ event }) => (event as string) === kind);
    return those.map(({ data }) => data as unknown as Readonly<Record<string, unknown>>);
  }

  async find<K extends Kind>(kind: K): Promise<Extract<EventMessage, { event: K }>> {
    type Wanted = Extract<EventMessage, { event: K }>;
    const isWanted = (message: EventMessage): message is Wanted => message.event === kind;
    return until(() => this.events.find(isWanted), 15_000);
  }
}

class SseReader extends Collected implements Reader {
  readonly #abort = new AbortController();

  close(): void {
    this.#abort.abort();
  }

  async open(url: string, { query = "", headers = {} }: ReaderOptions): Promise<this> {
    const { signal } = this.#abort;
    const answer = await fetch(`${url}${PATH}?${query}`, { headers, signal });
    const type = answer.headers.get("content-type");
    if (type !== "text/event-stream") throw new Error(`${answer.status}: ${await answer.text()}`);
    void this.#read(answer.body!).catch(() => {});
    return this;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const text = body.pipeThrough(new TextDecoderStream());
    try {
      for await (const { id, event, data } of text.pipeThrough(new EventSourceParserStream()))
        this.events.push({ ...(id && { id }), event, data: JSON.parse(data) } as EventMessage);
    } finally {
      this.ended = true;
    }
  }
}

class SocketReader extends Collected implements Reader {
  socket!: WebSocket;

  close(): void {
    this.socket.terminate();
  }

  async open(url: string, { query = "", headers = {} }: ReaderOptions): Promise<this> {
    this.socket = new WebSocket(`${url.replace("http", "ws")}${PATH}?${query}`, { headers });
    this.socket.on("message", (text: Buffer) =>
      this.events.push(JSON.parse(text.toString()) as EventMessage),
    );
    this.socket.on("close", () => (this.ended = true));
    await once(this.socket, "open");
    return this;
  }
}

/** Reads server-sent events as a page does that uses fetch. */
export async function readSse(url: string, options: ReaderOptions = {}): Promise<Reader> {
  return greeted(await new SseReader().open(url, options));
}

/** Reads the same over a WebSocket. */
export async function readSocket(
  url: string,
  options: ReaderOptions = {},
): Promise<Reader & { readonly socket: WebSocket }> {
  return greeted(await new SocketReader().open(url, options));
}

async function greeted<R extends Reader>(reader: R): Promise<R> {
  onTestFinished(() => reader.close());
  await reader.find("hello");
  return reader;
}

export const TRANSPORTS = [
  ["server-sent events", readSse],
  ["WebSocket", readSocket],
] as const;
