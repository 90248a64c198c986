import type { Readable } from "node:stream";
import { isGatewayError, toGatewayError, type Json } from "propylon";
import { readEvents, parseJson } from "propylon/kit";
import { MAX_DEPTH } from "propylon/contract";
import type { RemoteCard } from "./card.ts";
import type { RemoteEvent, AgentClient, OutgoingMessage, RequestContext } from "./agent-client.ts";
import type { AgentReply, AgentHttp } from "./http.ts";
import { AgentRefusal } from "./errors.ts";
import { readEvent } from "./translation.ts";

/** How much of an error body is read, in characters. */
const EXCERPT = 2_000;

/** What a {@link ContractClient} is made of. */
export interface ContractChannelOptions {
  readonly card: RemoteCard;
  readonly http: AgentHttp;
  /** The operator's. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxResult: number;
}

/** A runtime of contract v1: `POST /` with a bare message, a bare task back; as events where it streams. */
export class ContractClient implements AgentClient {
  readonly streams: boolean;
  readonly #options: ContractChannelOptions;

  constructor(options: ContractChannelOptions) {
    this.#options = options;
    this.streams = options.card.streams;
  }

  async *send(
    { message, metadata }: OutgoingMessage,
    context: RequestContext,
  ): AsyncIterable<RemoteEvent> {
    const { http } = this.#options;
    const reply = await this.#post({ message, ...(metadata && { metadata }) }, context);
    try {
      if (reply.status !== 200) throw await this.#refused(reply);
      const type = reply.headers["content-type"] ?? "";
      if (/^text\/event-stream\b/i.test(type)) yield* this.#read(reply.body);
      else yield this.#event(await textOf(reply.body));
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      if (isGatewayError(error) || error instanceof AgentRefusal) throw error;
      throw http.errors.network(error);
    } finally {
      reply.body.destroy();
    }
  }

  #post(body: Json, { signal, headers }: RequestContext): Promise<AgentReply> {
    const { card, http, headers: own } = this.#options;
    return http.send(card.interface.url, {
      method: "POST",
      headers: {
        ...lower(own),
        ...headers,
        "content-type": "application/json",
        accept: this.streams ? "text/event-stream" : "application/json",
      },
      body: JSON.stringify(body),
      signal,
    });
  }

  async *#read(body: Readable): AsyncIterable<RemoteEvent> {
    const { maxResult, http } = this.#options;
    const onExcess = (): Error => http.errors.tooLarge(maxResult);
    for await (const text of readEvents(body, maxResult, onExcess)) {
      const event = readEvent(this.#parse(text));
      if (event) yield event;
    }
  }

  #event(text: string): RemoteEvent {
    const event = readEvent(this.#parse(text));
    if (event) return event;
    throw this.#options.http.errors.protocol("does not answer as runtime contract v1 wants");
  }

  /** @throws {GatewayError} `upstream_error` for what nests too deep; what is no JSON is no event */
  #parse(text: string): unknown {
    try {
      return parseJson(Buffer.from(text), MAX_DEPTH);
    } catch (error) {
      if (toGatewayError(error).data?.["reason"] !== "depth") return undefined;
      throw this.#options.http.errors.tooDeep();
    }
  }

  /** 400 and its like are about the message; the rest is about the runtime. */
  async #refused({ status, body }: AgentReply): Promise<Error> {
    const isAboutMessage = [400, 413, 415, 422].includes(status);
    if (!isAboutMessage) return this.#options.http.errors.status(status);
    const text = (await textOf(body)).slice(0, EXCERPT);
    return new AgentRefusal(`HTTP ${status}. ${text}`.trimEnd());
  }
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Names of headers in lower case, so that ours replace the operator's and are not sent beside them. */
function lower(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
