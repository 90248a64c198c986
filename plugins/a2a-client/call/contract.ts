import { toGatewayError, type Json } from "propylon";
import { type HttpClientReply, parseJson, writeJson } from "propylon/kit";
import { lowerCaseNames } from "propylon/internal";
import { MAX_DEPTH } from "propylon/contract";
import type { RemoteCard } from "../card/card.ts";
import type { RemoteEvent, AgentClient, OutgoingMessage, RequestContext } from "./agent-client.ts";
import type { AgentHttp } from "../card/http.ts";
import { AgentRefusal } from "../card/errors.ts";
import { readEvent } from "./translation.ts";

/** How much of an error body is read, in characters. */
const EXCERPT = 2_000;

/** What a {@link ContractClient} is made of. */
export interface ContractChannelOptions {
  readonly card: RemoteCard;
  readonly http: AgentHttp;
  /** The operator's. */
  readonly headers: Readonly<Record<string, string>>;
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
    const reply = await this.#post({ message, ...(metadata && { metadata }) }, context);
    if (reply.status !== 200) throw await this.#refused(reply);
    if (!reply.isEvents) return yield this.#event(await reply.bytes());
    for await (const { data } of reply.events()) {
      const event = readEvent(this.#parse(Buffer.from(data)));
      if (event) yield event;
    }
  }

  #post(body: Json, { signal, headers }: RequestContext): Promise<HttpClientReply> {
    const { card, http, headers: own } = this.#options;
    return http.send(card.interface.url, {
      method: "POST",
      headers: {
        ...lowerCaseNames(own),
        ...headers,
        "content-type": "application/json",
        accept: this.streams ? "text/event-stream" : "application/json",
      },
      body: writeJson(body),
      signal,
    });
  }

  #event(json: Buffer): RemoteEvent {
    const event = readEvent(this.#parse(json));
    if (event) return event;
    throw this.#options.http.errors.protocol("does not answer as runtime contract v1 wants");
  }

  /** @throws {GatewayError} `upstream_error` for what nests too deep; invalid JSON is not an event */
  #parse(json: Buffer): unknown {
    try {
      return parseJson(json, MAX_DEPTH);
    } catch (error) {
      if (toGatewayError(error).data?.["reason"] !== "depth") return undefined;
      throw this.#options.http.errors.tooDeep();
    }
  }

  /** 400 and its like are about the message; the rest is about the runtime. */
  async #refused(reply: HttpClientReply): Promise<Error> {
    const { status } = reply;
    if ([400, 413, 415, 422].includes(status)) {
      const text = (await reply.bytes()).toString("utf8").slice(0, EXCERPT);
      return new AgentRefusal(`HTTP ${status}. ${text}`.trimEnd());
    }
    reply.drop();
    return this.#options.http.errors.status(status);
  }
}
