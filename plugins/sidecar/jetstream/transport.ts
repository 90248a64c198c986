import type { MsgHdrs } from "@nats-io/transport-node";
import { GatewayError } from "propylon";
import { streamEventSchema, taskSchema, type StreamEvent, type Task } from "propylon/contract";
import type { Settings } from "../settings.ts";
import { tokenOf } from "../subjects.ts";
import type {
  Delivery,
  Headers,
  LedgerEntry,
  NewEntry,
  Parcel,
  Transport,
  TransportStatus,
} from "../transport.ts";
import { Link, type Opened, type Said } from "./link.ts";
import { headersOf } from "./delivery.ts";
import { Puller } from "./puller.ts";
import { MESSAGE_ID, OWNER } from "../headers.ts";

/** Longest wait for the queue's word that it has stored something, in milliseconds. */
const STORE_MS = 5_000;

/** What belongs to one connection. */
interface Means extends Opened {
  readonly puller: Puller;
}

/** A queue in NATS JetStream. */
export class JetstreamTransport implements Transport {
  readonly #settings: Settings;
  readonly #link: Link;
  readonly #watchers = new Map<object, (means: Opened) => void>();
  #means: Means | undefined;

  constructor(settings: Settings, said: Said) {
    this.#settings = settings;
    this.#link = new Link(settings, said, {
      opened: (opened) => this.#adopt(opened),
      interrupted: () => this.#means?.puller.interrupt(),
    });
  }

  get status(): TransportStatus {
    return this.#link.status;
  }

  get limit(): number {
    return this.#means?.connection.info?.max_payload ?? 1_048_576;
  }

  onStatus(listener: () => void): void {
    this.#link.onStatus(listener);
  }

  open(): void {
    this.#link.open();
  }

  async pull(signal: AbortSignal): Promise<Delivery | undefined> {
    if (!this.status.isConnected && !(await this.#link.whenConnected(signal))) return undefined;
    return this.#means?.puller.next(signal);
  }

  async find(id: string): Promise<LedgerEntry | undefined> {
    const { manager } = this.#connected();
    const { streams, subjects } = this.#settings;
    const query = { last_by_subj: `${subjects.results}.${tokenOf(id)}` };
    const found = await this.#minding(manager.streams.getMessage(streams.results, query));
    if (!found) return undefined;
    const headers = headersOf(found.header);
    const { [MESSAGE_ID]: messageId, [OWNER]: owner } = headers;
    return { task: readTask(id, found.string()), messageId, owner, sequence: found.seq };
  }

  async record(id: string, { task, key, headers, replaces }: NewEntry): Promise<void> {
    const { manager } = this.#connected();
    const { streams, subjects } = this.#settings;
    if (replaces)
      await manager.streams.deleteMessage(streams.results, replaces.sequence).catch(() => {});
    const data = Buffer.from(JSON.stringify(task));
    try {
      await this.#store(`${subjects.results}.${tokenOf(id)}`, { data, headers, key });
    } catch (error) {
      // One result per subject: the stream refuses a second, and says so in words that differ between servers.
      if (replaces || !(await this.find(id))) throw error;
    }
  }

  tell(id: string, event: StreamEvent, headers: Headers): void {
    if (!this.#means || !this.status.isConnected) return;
    const subject = `${this.#settings.subjects.status}.${tokenOf(id)}`;
    const options = { headers: this.#write(headers) };
    try {
      this.#means.connection.publish(subject, JSON.stringify(event), options);
    } catch {
      // Too large, or the connection was closed: the result tells all.
    }
  }

  bury(parcel: Parcel): Promise<void> {
    const { subjects, name } = this.#settings;
    return this.#store(`${subjects.dead}.${name}`, parcel);
  }

  submit(agent: string, parcel: Parcel): Promise<void> {
    return this.#store(`${this.#settings.subjects.tasks}.${agent}`, parcel);
  }

  watch(id: string, listener: (event: StreamEvent | undefined) => void): () => void {
    const { status, results } = this.#settings.subjects;
    const ends: (() => void)[] = [];
    const subscribe = ({ connection }: Opened): void => {
      const told = connection.subscribe(`${status}.${tokenOf(id)}`, {
        callback: (error, message) => void (error ?? tellEvent(message.string(), listener)),
      });
      const stored = connection.subscribe(`${results}.${tokenOf(id)}`, {
        callback: (error) => void (error ?? listener(undefined)),
      });
      ends.push(
        () => told.unsubscribe(),
        () => stored.unsubscribe(),
      );
    };
    const key = {};
    this.#watchers.set(key, subscribe);
    if (this.#means) subscribe(this.#means);
    return () => {
      this.#watchers.delete(key);
      for (const end of ends) end();
    };
  }

  async lag(): Promise<{ waiting: number; running: number }> {
    const { manager } = this.#connected();
    const { streams, name } = this.#settings;
    const { num_pending, num_ack_pending } = await manager.consumers.info(streams.tasks, name);
    return { waiting: num_pending, running: num_ack_pending };
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  #adopt(opened: Opened): void {
    const puller = new Puller({
      connection: opened.connection,
      stream: this.#settings.streams.tasks,
      consumer: this.#settings.name,
      isConnected: () => this.status.isConnected,
      onGone: () => this.#link.verify(),
      createInbox: opened.createInbox,
    });
    this.#means = { ...opened, puller };
    for (const subscribe of this.#watchers.values()) subscribe(opened);
  }

  async #store(subject: string, { data, headers, key }: Parcel): Promise<void> {
    const { client } = this.#connected();
    const options = { msgID: key, timeout: STORE_MS, headers: this.#write(headers) };
    await this.#minding(client.publish(subject, data, options));
  }

  /** What fails may fail because a stream is gone. */
  async #minding<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.#link.verify();
      throw error;
    }
  }

  #write(headers: Headers): MsgHdrs {
    const written = this.#connected().createHeaders();
    for (const [name, value] of Object.entries(headers)) written.set(name, value);
    return written;
  }

  #connected(): Means {
    if (this.#means && this.status.isConnected) return this.#means;
    throw new GatewayError("upstream_error", this.status.reason ?? "The queue cannot be reached.", {
      hint: "Try again later.",
    });
  }
}

/** Anybody may write to the subject; what is no event is passed over. */
function tellEvent(text: string, listener: (event: StreamEvent) => void): void {
  const event = streamEventSchema.safeParse(jsonOf(text));
  if (event.success) listener(event.data);
}

/** Something else in the place of a result is a result, too: the stream takes no other. */
function readTask(id: string, text: string): Task {
  const task = taskSchema.safeParse(jsonOf(text));
  if (task.success) return task.data;
  const message = { role: "agent" as const, parts: [{ text: "What is stored is no task." }] };
  return { id, status: { state: "failed", message } };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
