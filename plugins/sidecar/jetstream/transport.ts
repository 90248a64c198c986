import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { GatewayError, isGatewayError } from "propylon";
import { FIRST_PROBLEM, pause, parseExact, writeJson } from "propylon/kit";
import {
  Link,
  Puller,
  readHeaders,
  type Jetstream,
  type Opened,
  type LinkLog,
  forbiddenOf,
  apiErrorOf,
} from "propylon/plugins/nats";
import { streamEventSchema, taskSchema, type StreamEvent, type Task } from "propylon/contract";
import type { JetStreamClient } from "@nats-io/jetstream";
import type { Settings } from "../settings.ts";
import { tokenOf } from "../message/subjects.ts";
import type {
  Delivery,
  Headers,
  LedgerEntry,
  NewEntry,
  Parcel,
  Transport,
  TransportStatus,
} from "../message/transport.ts";
import { provision } from "./streams.ts";
import { MESSAGE_ID } from "../message/headers.ts";

/** JetStream's own, for what will never fit: the stream takes no message of that size. */
const TOO_LARGE = 10_054;

/** What was not stored, in our words; `undefined` when the queue did not say. */
function refusedStore(error: unknown): GatewayError | undefined {
  const forbidden = forbiddenOf(error);
  if (forbidden) return forbidden;
  const refused = apiErrorOf(error);
  const { message = "" } = error as { message?: string };
  if (refused?.code === TOO_LARGE || message.includes("max_payload size exceeded"))
    return new GatewayError("too_large", "It is larger than the queue takes.", {
      hint: "Raise max_payload of the NATS server, or max_msg_size of the stream.",
    });
  if (!refused) return undefined;
  return new GatewayError(
    "upstream_error",
    `The queue takes nothing: ${refused.message.replace(/\.$/, "")}.`,
    { hint: "Make room: limits of the stream, of the account, or the disk of the server." },
  );
}

/** No stream has this name: what expects to be stored there is refused, and nothing is stored. */
const NOWHERE = { expect: { streamName: "~" } };
/** No id of a task is this token. */
const NOBODY = "~";
const PROBE_MS = 2_000;

/**
 * Finds out whether this user may do what a task needs, before one is run whose result could not be stored.
 * @throws {GatewayError} `forbidden` naming the subject
 */
async function probe(
  connection: NatsConnection,
  client: JetStreamClient,
  { name, streams, subjects }: Settings,
): Promise<void> {
  const options = { ...NOWHERE, timeout: PROBE_MS, retries: 1 };
  const tried = await Promise.allSettled([
    client.publish(`${subjects.results}.${NOBODY}`, "", options),
    client.publish(`${subjects.dead}.${name}`, "", options),
    // No JSON: refused, and no task is taken.
    connection.request(`$JS.API.CONSUMER.MSG.NEXT.${streams.tasks}.${name}`, "{", {
      timeout: PROBE_MS,
    }),
  ]);
  const reasons = tried.map((each) => (each.status === "rejected" ? each.reason : undefined));
  const forbidden = reasons.map((reason) => reason && forbiddenOf(reason)).find(Boolean);
  if (forbidden) throw forbidden;
}

/** Longest wait for the queue's word that it has stored something, in milliseconds. */
const STORE_MS = 5_000;
/** Pause between two looks whether the queue takes something again, in milliseconds. */
const LOOK_MS = 500;

const LINK = {
  lacking: "no queue",
  retry: { initial: 500, max: 10_000 },
  reconnects: 1,
  ping: 10_000,
} as const;

type NewParcel = Omit<Parcel, "key"> & { readonly key: string | undefined };

/** What belongs to one connection. */
interface OpenQueue extends Opened {
  readonly puller: Puller;
}

/** A queue in NATS JetStream. */
export class JetstreamTransport implements Transport {
  readonly #settings: Settings;
  readonly #log: LinkLog;
  readonly #link: Link;
  readonly #watchers = new Map<object, (opened: Opened) => void>();
  #open: OpenQueue | undefined;
  #limit = 1_048_576;

  constructor(settings: Settings, log: LinkLog) {
    this.#settings = settings;
    this.#log = log;
    const { name, nats } = settings;
    const options = { ...LINK, nats: nats!, name: `propylon-sidecar ${name}` };
    this.#link = new Link(options, log, {
      provide: (jetstream) => this.#provide(jetstream),
      opened: (opened) => this.#adopt(opened),
      interrupted: () => this.#open?.puller.interrupt(),
      forbidden: (error) => this.#forbid(error),
    });
  }

  get status(): TransportStatus {
    return { kind: "jetstream", ...this.#link.status };
  }

  /** Kept while the connection is down: what the server takes is not less for it. */
  get limit(): number {
    return (this.#limit = this.#open?.connection.info?.max_payload ?? this.#limit);
  }

  onStatus(listener: () => void): void {
    this.#link.onStatus(listener);
  }

  open(): void {
    this.#link.open();
  }

  async pull(signal: AbortSignal): Promise<Delivery | undefined> {
    if (!this.#link.status.isConnected && !(await this.#link.whenConnected(signal)))
      return undefined;
    if (this.#link.status.reason !== undefined) {
      await pause(LOOK_MS, signal);
      return undefined;
    }
    return this.#open?.puller.next(signal);
  }

  async find(id: string): Promise<LedgerEntry | undefined> {
    const { manager } = this.#connected();
    const { streams, subjects } = this.#settings;
    const query = { last_by_subj: `${subjects.results}.${tokenOf(id)}` };
    const found = await this.#minding(manager.streams.getMessage(streams.results, query));
    if (!found) return undefined;
    const { [MESSAGE_ID]: message } = readHeaders(() => found.header);
    return { task: readTask(id, found.string()), message, sequence: found.seq };
  }

  async record(id: string, { task, key, headers, replaces }: NewEntry): Promise<void> {
    const { manager } = this.#connected();
    const { streams, subjects } = this.#settings;
    if (replaces)
      await manager.streams.deleteMessage(streams.results, replaces.sequence).catch(() => {});
    const data = Buffer.from(writeJson(task));
    const subject = `${subjects.results}.${tokenOf(id)}`;
    try {
      const isStored = await this.#keep(subject, { data, headers, key });
      // A result of this key was there a short while ago, and was taken out.
      if (!isStored && !(await this.find(id)))
        await this.#keep(subject, { data, headers, key: undefined });
    } catch (error) {
      // One result per subject: the stream refuses a second, and says so in words that differ between servers.
      if (replaces || !(await this.find(id))) throw error;
    }
    this.#link.complain(undefined);
  }

  tell(id: string, event: StreamEvent, headers: Headers): void {
    if (!this.#open || !this.#link.status.isConnected) return;
    const subject = `${this.#settings.subjects.status}.${tokenOf(id)}`;
    const options = { headers: this.#write(headers) };
    try {
      this.#open.connection.publish(subject, writeJson(event), options);
    } catch {
      // Too large, or the connection was closed: the result tells all.
    }
  }

  async bury(parcel: Parcel): Promise<void> {
    const { subjects, name } = this.#settings;
    await this.#keep(`${subjects.dead}.${name}`, parcel);
    this.#link.complain(undefined);
  }

  async submit(agent: string, parcel: Parcel): Promise<void> {
    await this.#store(`${this.#settings.subjects.tasks}.${agent}`, parcel);
  }

  watch(id: string, listener: (event: StreamEvent | undefined) => void): () => void {
    const { status, results } = this.#settings.subjects;
    let end = (): void => {};
    const subscribe = ({ connection }: Opened): void => {
      const told = connection.subscribe(`${status}.${tokenOf(id)}`, {
        callback: (error, message) => void (error ?? tellEvent(message.string(), listener)),
      });
      const stored = connection.subscribe(`${results}.${tokenOf(id)}`, {
        callback: (error) => void (error ?? listener(undefined)),
      });
      end = () => {
        told.unsubscribe();
        stored.unsubscribe();
      };
    };
    const key = {};
    this.#watchers.set(key, subscribe);
    if (this.#open && !this.#open.connection.isClosed()) subscribe(this.#open);
    return () => {
      this.#watchers.delete(key);
      end();
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

  async #provide({ connection, client, manager }: Jetstream): Promise<void> {
    if (await provision(manager, this.#settings)) this.#open?.puller.interrupt();
    if (this.#settings.work) await probe(connection, client, this.#settings);
  }

  #adopt(opened: Opened): void {
    const puller = new Puller({
      connection: opened.connection,
      line: {
        connection: () => this.#open!.connection,
        isConnected: () => this.#link.status.isConnected,
        onGone: () => this.#link.verify(),
      },
      stream: this.#settings.streams.tasks,
      consumer: this.#settings.name,
      onRefusal: (words) => this.#log.warn({ words }, "NATS refuses a request for a task"),
      createInbox: opened.createInbox,
    });
    this.#open = { ...opened, puller };
    this.#limit = this.limit;
    for (const subscribe of this.#watchers.values()) subscribe(opened);
  }

  /** Stores what a task came to; while that is refused, no other is begun. */
  async #keep(subject: string, parcel: NewParcel): Promise<boolean> {
    try {
      return await this.#store(subject, parcel);
    } catch (error) {
      if (isGatewayError(error) && error.code !== "too_large" && this.#link.status.isConnected)
        this.#link.complain(error.message);
      throw error;
    }
  }

  /** @returns whether it was stored now, and not a short while before */
  async #store(subject: string, { data, headers, key }: NewParcel): Promise<boolean> {
    const { client } = this.#connected();
    const options = {
      timeout: STORE_MS,
      headers: this.#write(headers),
      ...(key !== undefined && { msgID: key }),
    };
    try {
      const { duplicate } = await client.publish(subject, data, options);
      return !duplicate;
    } catch (error) {
      const refused = refusedStore(error);
      if (refused) throw refused;
      // It may fail because the stream is gone.
      this.#link.verify();
      throw error;
    }
  }

  /** What is best effort may fail forever; without tasks, and acks, nothing is left to be done. */
  #forbid(error: GatewayError): void {
    const subject = String(error.data?.["subject"]);
    if (/^\$JS\.(?:ACK|API\.CONSUMER\.MSG\.NEXT)\./.test(subject)) {
      this.#open?.puller.interrupt();
      void this.#link.forbid(error);
    } else this.#log.warn({ hint: error.hint }, error.message);
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

  #connected(): OpenQueue {
    if (this.#open && this.#link.status.isConnected) return this.#open;
    throw new GatewayError(
      "upstream_error",
      this.#link.status.reason ?? "The queue cannot be reached.",
      {
        hint: "Try again later.",
      },
    );
  }
}

/** Anybody may write to the subject; anything but an event is passed over. */
function tellEvent(text: string, listener: (event: StreamEvent) => void): void {
  const event = streamEventSchema.safeParse(jsonOf(text), FIRST_PROBLEM);
  if (event.success) listener(event.data);
}

/** Something else in the place of a result is a result, too: the stream takes no other. */
function readTask(id: string, text: string): Task {
  const task = taskSchema.safeParse(jsonOf(text), FIRST_PROBLEM);
  if (task.success) return task.data;
  const message = {
    role: "agent" as const,
    parts: [{ text: "The stored message is not a task." }],
  };
  return { id, status: { state: "failed", message } };
}

function jsonOf(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
