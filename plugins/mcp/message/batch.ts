import { type Pieces, blankLineBreaks } from "./stream.ts";
import type { Reply, ReplyOwner } from "./reply.ts";

/** Gathers the responses of a JSON-RPC batch: one array, or one event each once the reply has become a stream. */
export class BatchReply implements ReplyOwner {
  readonly #reply: Reply;
  readonly #items: BatchItem[] = [];
  readonly #responses: string[] = [];
  #left: number;
  #streaming = false;

  constructor(reply: Reply, requests: number) {
    this.#reply = reply;
    this.#left = requests;
    reply.owner = this;
  }

  /** The way back for one request of the batch. */
  item(): Reply {
    const item = new BatchItem(this);
    this.#items.push(item);
    return item;
  }

  gone(): void {
    for (const item of this.#items) if (!item.done) item.owner?.gone();
  }

  get congested(): boolean {
    return this.#reply.congested;
  }

  whenClear(resume: () => void): void {
    this.#reply.whenClear(resume);
  }

  event(message: string): boolean {
    const sent = this.#reply.event(message);
    if (sent && !this.#streaming) {
      this.#streaming = true;
      for (const response of this.#responses.splice(0)) this.#reply.event(response);
    }
    return sent;
  }

  /** Takes one response; `undefined` for a request that gets none. */
  settle(response: string | undefined): void {
    this.#left--;
    if (
      response !== undefined &&
      !(this.#streaming && this.#left > 0 && this.#reply.event(response))
    )
      this.#responses.push(response);
    if (this.#left > 0) return;
    if (this.#responses.length === 0) this.#reply.drop();
    else
      this.#reply.end([
        this.#streaming ? this.#responses.join("") : `[${this.#responses.join(",")}]`,
      ]);
  }
}

class BatchItem implements Reply {
  owner: ReplyOwner | undefined;
  done = false;
  readonly #batch: BatchReply;

  constructor(batch: BatchReply) {
    this.#batch = batch;
  }

  event(message: string): boolean {
    return !this.done && this.#batch.event(message);
  }

  get congested(): boolean {
    return !this.done && this.#batch.congested;
  }

  whenClear(resume: () => void): void {
    this.#batch.whenClear(resume);
  }

  end(pieces: Pieces): void {
    const text = Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)));
    this.#settle(blankLineBreaks([text]).toString());
  }

  drop(): void {
    this.#settle(undefined);
  }

  #settle(response: string | undefined): void {
    if (this.done) return;
    this.done = true;
    this.#batch.settle(response);
  }
}
