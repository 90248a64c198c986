import { GatewayError } from "propylon";
import type { HttpClientReply } from "propylon/kit";
import { lowerCaseNames } from "propylon/internal";
import { baseOf, readCard, type RemoteCard } from "./card.ts";
import type { AgentHttp } from "./http.ts";
import type { RemoteAgentOptions } from "../options.ts";

/** Reads the card of one agent, again and again. */
export class CardReader {
  readonly #http: AgentHttp;
  readonly #options: RemoteAgentOptions;
  readonly #url: URL;
  #last: { readonly card: RemoteCard; readonly etag: string } | undefined;

  constructor(http: AgentHttp, options: RemoteAgentOptions) {
    this.#http = http;
    this.#options = options;
    this.#url = new URL(options.card, baseOf(options));
  }

  /**
   * The card as it is now; the very same object when it has not changed.
   * @throws {GatewayError} `upstream_error` for an agent that cannot be reached; `invalid` for a card that cannot be used
   */
  async read(signal: AbortSignal): Promise<RemoteCard> {
    const reply = await this.#get(signal);
    if (reply.status !== 200) reply.drop();
    if (reply.status === 304 && this.#last) return this.#last.card;
    if (reply.status !== 200) throw this.#refused(reply.status);
    const card = readCard(await reply.bytes(), this.#options);
    const kept = card.hash === this.#last?.card.hash ? this.#last.card : card;
    this.#last = { card: kept, etag: reply.header("etag") };
    return kept;
  }

  #get(signal: AbortSignal): Promise<HttpClientReply> {
    const etag = this.#last?.etag ?? "";
    return this.#http.send(this.#url, {
      method: "GET",
      headers: {
        ...lowerCaseNames(this.#headers),
        accept: "application/json",
        ...(etag !== "" && { "if-none-match": etag }),
      },
      signal,
    });
  }

  /** The operator's headers are meant for the agent: a card on another host does not get them. */
  get #headers(): Readonly<Record<string, string>> {
    return this.#url.origin === baseOf(this.#options).origin ? this.#options.headers : {};
  }

  #refused(status: number): GatewayError {
    if (status !== 404) return this.#http.errors.status(status);
    return new GatewayError("invalid", "The agent has no card there (HTTP 404).", {
      data: { status },
      hint: "Check url, or set card to where it is.",
    });
  }
}
