import type { Msg, MsgHdrs } from "@nats-io/transport-node";
import { ackSchema, answerOf, keptSchema, readFields, stateSchema } from "./answers.ts";
import { apiErrorOf, forbiddenOf } from "./refusal.ts";
import { FIRST_PROBLEM, setTimer } from "propylon/kit";
import type { Opened } from "./linking.ts";

/** JetStream's codes for a write over another revision than it expected. */
const WRONG_SEQUENCE = [10_071, 10_164];
const NOT_FOUND = 10_037;
/** What a deletion of a message says that is not there. */
const GONE = [10_037, 10_043, 10_057];

/** What is written with a message. */
export type Fields = Readonly<Record<string, string>>;

/** A message of a stream. */
export interface Kept {
  readonly subject: string;
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly fields: Fields;
  readonly data: Buffer;
}

/** Which message of a stream. */
export type Query =
  | { readonly last_by_subj: string }
  | { readonly seq: number; readonly next_by_subj: string };

/** What one call of the driver asks of the server, all within one time limit. Nothing is asked twice. */
export class StoreRequest {
  readonly #opened: Opened;
  readonly #end: number;

  /** @param limit milliseconds that all of it may take */
  constructor(opened: Opened, limit: number) {
    this.#opened = opened;
    this.#end = performance.now() + limit;
  }

  /** Bytes that a message may have, for its fields and its body. */
  get room(): number {
    return this.#opened.connection.info?.max_payload ?? 0;
  }

  /**
   * @param expected what must be there: the sequence number of the subject's last message, 0 for none
   * @returns the sequence number of the new message; `undefined` when something else was there
   */
  async publish(
    subject: string,
    data: Uint8Array | string,
    fields: Fields = {},
    expected?: number,
  ): Promise<number | undefined> {
    const all = {
      ...fields,
      ...(expected !== undefined && { "Nats-Expected-Last-Subject-Sequence": String(expected) }),
    };
    try {
      const reply = await this.#send(subject, data, this.#headers(all));
      return ackSchema.parse(reply, FIRST_PROBLEM).seq;
    } catch (error) {
      if (WRONG_SEQUENCE.includes(apiErrorOf(error)?.code ?? 0)) return undefined;
      throw error;
    }
  }

  async find(stream: string, query: Query): Promise<Kept | undefined> {
    try {
      const { message } = keptSchema.parse(
        await this.#ask(`STREAM.MSG.GET.${stream}`, query),
        FIRST_PROBLEM,
      );
      const { subject, seq, time, hdrs, data } = message;
      return {
        subject,
        seq,
        at: Date.parse(time),
        fields: readFields(Buffer.from(hdrs, "base64").toString("latin1")),
        data: Buffer.from(data, "base64"),
      };
    } catch (error) {
      if (apiErrorOf(error)?.code === NOT_FOUND) return undefined;
      throw error;
    }
  }

  /** Sequence number of the last message that a stream ever had. */
  async lastOf(stream: string): Promise<number> {
    return stateSchema.parse(await this.#ask(`STREAM.INFO.${stream}`, {}), FIRST_PROBLEM).state
      .last_seq;
  }

  /** Subjects that have messages, with how many; and the stream's last sequence number before they were looked for. */
  async subjects(
    stream: string,
    filter: string,
  ): Promise<{ readonly subjects: ReadonlyMap<string, number>; readonly seq: number }> {
    const subjects = new Map<string, number>();
    let seq: number | undefined;
    for (let total = 1, offset = 0; offset < total;) {
      const query = { subjects_filter: filter, offset };
      const info = stateSchema.parse(
        await this.#ask(`STREAM.INFO.${stream}`, query),
        FIRST_PROBLEM,
      );
      seq ??= info.state.last_seq;
      const page = Object.entries(info.state.subjects ?? {});
      for (const [subject, count] of page) subjects.set(subject, count);
      if (page.length === 0) break;
      offset += page.length;
      total = info.total;
    }
    return { subjects, seq: seq ?? 0 };
  }

  /** Removes a message. */
  async remove(stream: string, seq: number): Promise<void> {
    try {
      await this.#ask(`STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true });
    } catch (error) {
      if (!GONE.includes(apiErrorOf(error)?.code ?? 0)) throw error;
    }
  }

  /** Removes messages: those before a sequence number, all but the newest so many, or all. */
  async purge(
    stream: string,
    filter: string,
    what: { readonly seq?: number; readonly keep?: number } = {},
  ): Promise<void> {
    await this.#ask(`STREAM.PURGE.${stream}`, { filter, ...what });
  }

  /** Messages of a pull consumer: so many, or fewer when there are no more. */
  async pull(subject: string, count: number): Promise<readonly Msg[]> {
    const { connection, createInbox } = this.#opened;
    const inbox = createInbox();
    const messages: Msg[] = [];
    let end = (_error?: Error): void => {};
    const all = new Promise<void>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve());
    });
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        // A status instead of a message: nothing else comes.
        if (error || message.headers?.code) return end(error ?? undefined);
        if (messages.push(message) === count) end();
      },
    });
    try {
      const body = { batch: count, no_wait: true };
      connection.publish(`$JS.API.${subject}`, JSON.stringify(body), { reply: inbox });
      await this.within(all);
      return messages;
    } finally {
      subscription.unsubscribe();
    }
  }

  /** What the streams' API answers. */
  async ask(subject: string, body: object): Promise<unknown> {
    return this.#ask(subject, body);
  }

  /** Tells who listens now. */
  tell(subject: string, message: string): void {
    this.#opened.connection.publish(subject, message);
  }

  /** Waits until the server has heard all that was said. */
  async flush(): Promise<void> {
    await this.within(this.#opened.connection.flush());
  }

  /** @throws when it takes longer than the call may */
  async within<T>(work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimer(() => reject(timeout()), this.#left());
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(() => {});
    }
  }

  #ask(subject: string, body: object): Promise<object> {
    return this.#send(`$JS.API.${subject}`, JSON.stringify(body));
  }

  async #send(subject: string, data: Uint8Array | string, headers?: MsgHdrs): Promise<object> {
    const options = { timeout: this.#left(), ...(headers && { headers }) };
    try {
      const reply = await this.#opened.connection.request(subject, data, options);
      return answerOf(reply.json());
    } catch (error) {
      throw worded(error);
    }
  }

  #left(): number {
    const left = this.#end - performance.now();
    if (left <= 0) throw timeout();
    return left;
  }

  #headers(fields: Fields): MsgHdrs | undefined {
    const entries = Object.entries(fields);
    if (entries.length === 0) return undefined;
    const headers = this.#opened.createHeaders();
    for (const [name, value] of entries) headers.set(name, value);
    return headers;
  }
}

/** What is not allowed is as if there were no store: what clients hear names no subject. */
function worded(error: unknown): unknown {
  const forbidden = forbiddenOf(error);
  if (forbidden) return new Error(forbidden.message, { cause: forbidden });
  return (error as { readonly name?: unknown }).name === "TimeoutError" ? timeout() : error;
}

function timeout(): Error {
  return new Error("NATS does not answer in time");
}
