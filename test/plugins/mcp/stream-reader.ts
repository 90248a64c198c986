import { EventSourceParserStream } from "eventsource-parser/stream";
import { onTestFinished } from "vitest";

/** A message as a client reads it. */
interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly uri?: string; readonly step?: number; readonly _meta?: object };
}

/** An event stream of an endpoint, with all that was read. */
export class StreamReader {
  readonly messages: Message[] = [];
  /** Id of the last event, be it of the stream before. */
  lastId: string | undefined;
  status = 0;
  isOver = false;
  readonly #abort = new AbortController();

  constructor(lastId?: string) {
    this.lastId = lastId;
  }

  /** Resolves when the stream is there. */
  async open(url: URL, init: RequestInit): Promise<this> {
    return this.read(await fetch(url, { ...init, signal: this.#abort.signal }));
  }

  /** Reads a response that is there already. */
  read({ status, body }: Response): this {
    onTestFinished(() => this.close());
    this.status = status;
    if (body) void this.#read(body);
    return this;
  }

  /** Steps of the updates of a resource, in order. */
  stepsOf(uri: string): number[] {
    return this.messages.flatMap(({ params }) =>
      params?.uri === uri && params.step !== undefined ? [params.step] : [],
    );
  }

  count(method: string): number {
    return this.messages.filter((message) => message.method === method).length;
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(body: ReadableStream): Promise<void> {
    const events = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream(), { signal: this.#abort.signal });
    try {
      for await (const { id, data } of events) {
        this.lastId = id ?? this.lastId;
        if (data !== "") this.messages.push(JSON.parse(data) as Message);
      }
    } catch {}
    this.isOver = true;
  }
}
