import { request } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { HttpPool } from "../../../../plugins/servers/pool/http-pool.ts";

/** What a client made of an answer. */
export interface Reading {
  readonly status?: number;
  /** Names, in lower case, and values in turn. */
  readonly headers?: readonly string[];
  /** What of the body was given out, though the answer may be refused after that. */
  readonly body: string;
  /** Why it was refused. */
  readonly error?: string;
  /** Whether the connection takes another request. */
  readonly isKept: boolean;
}

/** A connection in memory whose other side sends what it is told, and that ends it unless the answer is through. */
export class Pipe extends Duplex {
  /** `undefined`: nothing comes, and it stays open. */
  #answer: readonly Buffer[] | undefined;
  isThrough = false;

  constructor() {
    super({ allowHalfOpen: false, highWaterMark: 1_048_576 });
  }

  /** What comes for the next request. */
  prepare(answer: readonly Buffer[]): void {
    this.#answer = answer;
    this.isThrough = false;
  }

  override _read(): void {}

  override _write(_request: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
    const answer = this.#answer;
    if (answer === undefined) return;
    this.#answer = [];
    for (const piece of answer) this.push(piece);
    // Behind all that was sent before.
    setImmediate(() => this.isThrough || this.destroyed || this.push(null));
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }
}

/** Our client, over connections in memory. */
export class PipedPool extends HttpPool {
  #pipe: Pipe | undefined;
  #answer: readonly Buffer[] = [];
  /** Requests that went out on a connection that had one before. */
  reused = 0;

  constructor() {
    super(new URL("http://server.test"), { timeout: 60_000 });
  }

  protected override connect(): Socket {
    const pipe = new Pipe();
    this.#pipe = pipe;
    pipe.prepare(this.#answer);
    process.nextTick(() => pipe.emit("connect"));
    return pipe as unknown as Socket;
  }

  /** Sends a request, which gets this answer on whichever connection it goes out. */
  async ask(answer: readonly Buffer[]): Promise<Reading> {
    this.#answer = answer;
    if (this.#pipe?.destroyed === false) this.#pipe.prepare(answer);
    const chunks: Buffer[] = [];
    let head: Pick<Reading, "status" | "headers"> = {};
    const error = await new Promise<string | undefined>((resolve) => {
      const end = (value?: string): void => {
        this.#pipe!.isThrough = true;
        // All of the answer has come before the next request goes out.
        setImmediate(resolve, value);
      };
      this.dispatch(
        { method: "POST", path: "/", headers: [], body: "{}" },
        {
          onRequestStart: ({ isReused }) => void (isReused && this.reused++),
          onResponseStart: (status, headers) => (head = { status, headers }),
          onResponseData: (chunk) => chunks.push(chunk),
          onResponseEnd: () => end(),
          onResponseError: ({ code }: NodeJS.ErrnoException) => end(String(code)),
        },
      );
    });
    const body = Buffer.concat(chunks).toString("latin1");
    const isKept = error === undefined && !this.#pipe!.destroyed;
    return { ...head, body, isKept, ...(error !== undefined && { error }) };
  }
}

/** What the client of `node:http` makes of an answer, on a connection of its own. */
export function askNode(answer: readonly Buffer[]): Promise<Reading> {
  const pipe = new Pipe();
  pipe.prepare(answer);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let head: Pick<Reading, "status" | "headers"> = {};
    let error: string | undefined;
    let isThrough = (): boolean => false;
    const sent = request({ method: "POST", createConnection: () => pipe }, (response) => {
      head = { status: response.statusCode!, headers: lowered(response.rawHeaders) };
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", (reason: NodeJS.ErrnoException) => (error ??= reason.code));
      response.on("end", done);
      isThrough = () => response.complete;
    });
    const done = (): void => {
      const isKept = isThrough() && error === undefined && sent.shouldKeepAlive;
      pipe.destroy();
      const body = Buffer.concat(chunks).toString("latin1");
      resolve({ ...head, body, isKept, ...(!isThrough() && { error: error ?? "not complete" }) });
    };
    // As with an agent that keeps connections.
    sent.shouldKeepAlive = true;
    sent.maxHeadersCount = 0;
    sent.on("error", (reason: NodeJS.ErrnoException) => (error ??= reason.code)).on("close", done);
    sent.end("{}");
  });
}

function lowered(raw: readonly string[]): string[] {
  return raw.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text));
}
