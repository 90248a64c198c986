import { HttpClient, type HttpClientReply, isWithinDepth } from "propylon/kit";
import { sseHead } from "propylon/internal";
import { MAX_DEPTH } from "propylon/contract";
import { AgentErrors } from "./errors.ts";

/** How an agent is reached. */
export interface AgentHttpOptions {
  /** Server name, for messages. */
  readonly server: string;
  readonly connectTimeout: number;
  /** Largest response in bytes, unless it is a stream of events. */
  readonly maxResult: number;
}

const END_OF_EVENT = Buffer.from("\n\n");
/** Statuses that a Response may not have a body with. */
const BODILESS = new Set([204, 205, 304]);

/** HTTP to one agent. */
export class AgentHttp extends HttpClient {
  readonly errors: AgentErrors;

  constructor({ server, ...options }: AgentHttpOptions) {
    const errors = new AgentErrors(server);
    super({
      ...options,
      network: (error) => errors.network(error),
      tooLarge: (limit) => errors.tooLarge(limit),
    });
    this.errors = errors;
  }

  /**
   * `fetch` with the operator's headers, for what speaks A2A over it.
   * @throws {GatewayError} `upstream_error` also for a status that is the transport's and not A2A's
   */
  fetcher(own: Readonly<Record<string, string>>): typeof fetch {
    return async (input, init = {}) => {
      const sent = new Headers(own);
      new Headers(init.headers).forEach((value, name) => sent.set(name, value));
      const reply = await this.send(new URL(input instanceof Request ? input.url : input), {
        method: init.method === "POST" ? "POST" : "GET",
        headers: Object.fromEntries(sent),
        body: init.body as string | undefined,
        signal: init.signal ?? undefined,
      });
      const { status } = reply;
      if (!isProtocol(status, reply.header("content-type"))) {
        reply.drop();
        throw this.errors.status(status);
      }
      const headers = flatten(reply.headers);
      if (!BODILESS.has(status))
        return new Response(toStream(this.#shallow(reply), reply), { status, headers });
      reply.drop();
      return new Response(null, { status, headers });
    };
  }

  /** The body, in which nothing nests too deep: the SDK walks what it reads, and so does everybody behind it. */
  async *#shallow(reply: HttpClientReply): AsyncIterable<Buffer> {
    if (!reply.isEvents) return yield this.#checked(await reply.bytes());
    for await (const { type, data } of reply.events()) {
      const bytes = this.#checked(Buffer.from(data));
      yield Buffer.from(sseHead(type));
      yield bytes;
      yield END_OF_EVENT;
    }
  }

  #checked(json: Buffer): Buffer {
    if (isWithinDepth(json, MAX_DEPTH)) return json;
    throw this.errors.tooDeep();
  }
}

/** Whether an answer is for clients of A2A; the rest is an error of HTTP. */
function isProtocol(status: number, type: string): boolean {
  if (status < 300) return true;
  // What a gateway or the agent's own server says before A2A is spoken; breakers and retries have to see it.
  if (status < 400 || [401, 403, 429, 503].includes(status)) return false;
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(type);
}

/** As the web has it, without the buffering of `Readable.toWeb`; ends when its reader gives up. */
function toStream(
  pieces: AsyncIterable<Buffer>,
  reply: HttpClientReply,
): ReadableStream<Uint8Array> {
  const chunks = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      // Not the end of the iterator, which would wait for a piece that may never come.
      cancel: () => reply.drop(),
    },
    { highWaterMark: 0 },
  );
}

function flatten(headers: HttpClientReply["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(", ")]],
    ),
  );
}
