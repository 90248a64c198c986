import { Readable, Transform } from "node:stream";
import { isWithinDepth, readTypedEvents } from "propylon/kit";
import { MAX_DEPTH } from "propylon/contract";
import type { Agent } from "undici";
import { AgentErrors } from "./errors.ts";

/** How an agent is reached. */
export interface AgentHttpOptions {
  /** Server name, for messages. */
  readonly server: string;
  readonly connectTimeout: number;
  /** Largest response in bytes, unless it is a stream of events. */
  readonly maxResult: number;
}

/** A request to an agent. */
export interface AgentRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What came back; `body` must be read or destroyed. */
export interface AgentReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

const EVENTS = "text/event-stream";
const END_OF_EVENT = Buffer.from("\n\n");
/** Statuses that a Response may not have a body with. */
const BODILESS = new Set([204, 205, 304]);

/** HTTP to one agent. Tasks may take hours, so nothing but the caller ends a wait; redirects are not followed. */
export class AgentHttp {
  readonly errors: AgentErrors;
  readonly #options: AgentHttpOptions;
  #agent: Promise<Agent> | undefined;

  constructor(options: AgentHttpOptions) {
    this.#options = options;
    this.errors = new AgentErrors(options.server);
  }

  /** @throws {GatewayError} `upstream_error` when the network fails; what aborted the signal */
  async send(url: URL, { method, headers, body, signal }: AgentRequest): Promise<AgentReply> {
    this.#agent ??= openAgent(this.#options.connectTimeout);
    try {
      const agent = await this.#agent;
      const { origin, pathname, search } = url;
      const path = `${pathname}${search}`;
      const reply = await agent.request({
        origin,
        path,
        method,
        headers,
        body: body ?? null,
        signal: signal ?? null,
      });
      return {
        status: reply.statusCode,
        headers: flatten(reply.headers),
        // Nobody reads as events what was not asked for as such, or is an error: it would be without any bound.
        body:
          reply.statusCode === 200 && headers["accept"]?.includes(EVENTS)
            ? this.#bound(reply.body, reply.headers["content-type"])
            : this.#bound(reply.body),
      };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw this.errors.network(error);
    }
  }

  /**
   * `fetch` with the operator's headers, for what speaks A2A over it.
   * @throws {GatewayError} `upstream_error` also for a status that is the transport's and not A2A's
   */
  fetcher(own: Readonly<Record<string, string>>): typeof fetch {
    return async (input, init = {}) => {
      const headers = new Headers(own);
      new Headers(init.headers).forEach((value, name) => headers.set(name, value));
      const url = new URL(input instanceof Request ? input.url : input);
      const { status, ...reply } = await this.send(url, {
        method: init.method === "POST" ? "POST" : "GET",
        headers: Object.fromEntries(headers),
        body: init.body as string | undefined,
        signal: init.signal ?? undefined,
      });
      if (!isProtocol(status, reply.headers["content-type"])) {
        reply.body.destroy();
        throw this.errors.status(status);
      }
      if (!BODILESS.has(status))
        return new Response(toStream(this.#shallow(reply)), { status, headers: reply.headers });
      reply.body.destroy();
      return new Response(null, { status, headers: reply.headers });
    };
  }

  /** The body, in which nothing nests too deep: the SDK walks what it reads, and so does everybody behind it. */
  #shallow({ body, headers }: Pick<AgentReply, "body" | "headers">): Readable {
    const isStream = headers["content-type"]?.startsWith(EVENTS) === true;
    const pieces = isStream ? this.#shallowEvents(body) : this.#shallowWhole(body);
    const checked = Readable.from(pieces, { objectMode: false });
    checked.on("close", () => body.destroy());
    checked.on("error", () => {});
    return checked;
  }

  async *#shallowWhole(body: Readable): AsyncIterable<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk as Buffer);
    const whole = Buffer.concat(chunks);
    if (!isWithinDepth(whole, MAX_DEPTH)) throw this.errors.tooDeep();
    yield whole;
  }

  async *#shallowEvents(body: Readable): AsyncIterable<Buffer> {
    const { maxResult } = this.#options;
    const onExcess = (): Error => this.errors.tooLarge(maxResult);
    for await (const { type, data } of readTypedEvents(body, maxResult, onExcess)) {
      const bytes = Buffer.from(data);
      if (!isWithinDepth(bytes, MAX_DEPTH)) throw this.errors.tooDeep();
      yield Buffer.from(`event: ${type}\ndata: `);
      yield bytes;
      yield END_OF_EVENT;
    }
  }

  /** Ends at once. */
  async destroy(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  /** Events are bounded by whoever puts them together: a stream may tell of a task for hours. */
  #bound(body: Readable, type?: string | string[]): Readable {
    if (String(type).startsWith(EVENTS)) return body;
    const { maxResult } = this.#options;
    let size = 0;
    const bounded = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        size += chunk.length;
        if (size > maxResult) done(this.errors.tooLarge(maxResult));
        else done(null, chunk);
      },
    });
    body.on("error", (error) => bounded.destroy(this.errors.network(error)));
    bounded.on("close", () => body.destroy());
    // A body that nobody reads any more must not end the process with its error.
    bounded.on("error", () => {});
    return body.pipe(bounded);
  }
}

/** undici is only loaded once there is an agent to talk to: it costs tens of milliseconds of a start. */
async function openAgent(connectTimeout: number): Promise<Agent> {
  const { Agent: UndiciAgent } = await import("undici");
  return new UndiciAgent({
    connect: { timeout: connectTimeout },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Whether an answer is for whoever speaks A2A; the rest is an error of HTTP. */
function isProtocol(status: number, type = ""): boolean {
  if (status < 300) return true;
  // What a gateway or the agent's own server says before A2A is spoken; breakers and retries have to see it.
  if (status < 400 || [401, 403, 429, 503].includes(status)) return false;
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(type);
}

/** As the web has it, without the buffering of `Readable.toWeb`; ends when its reader gives up. */
function toStream(body: Readable): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        body.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>) {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );
}
