import { GatewayError } from "propylon";
import type { QueueDelivery, QueuedItem, WorkQueue } from "propylon/store";
import type { Delivery } from "./delivery.ts";
import type { Link } from "../link/link.ts";
import type { Jetstream, Opened } from "../link/linking.ts";
import { checkSettings, findOrAdd, nanos, provideStream } from "../store/provision.ts";
import { Puller } from "./puller.ts";
import type { StoreRequest } from "../link/request.ts";
import type { NatsSettings } from "../settings.ts";
import type { Subjects } from "../store/subjects.ts";

/** Work that nobody keeps for so long is delivered to somebody else, in milliseconds: as long as a dead gateway counts as there. */
const ACK_WAIT_MS = 6_000;
/** Requests for work that may wait at the server. */
const MAX_WAITING = 10_000;

/** What queues need of their driver. */
export interface QueuesHost {
  readonly subjects: Subjects;
  readonly nats: Pick<NatsSettings, "provision" | "replicas">;
  readonly link: () => Link;
  /** Runs a call as all of the driver's. */
  readonly run: <T>(work: (request: StoreRequest) => Promise<T>) => Promise<T>;
  /** The server refuses to be asked, in its words. */
  readonly refused: (words: string) => void;
}

/** The queues of a store: one stream, and a consumer for each. Made when the first is used, for most stores have none. */
export class Queues {
  readonly #host: QueuesHost;
  readonly #queues = new Map<string, NatsQueue>();
  #opened: Opened | undefined;

  constructor(host: QueuesHost) {
    this.#host = host;
  }

  queue(name: string): WorkQueue {
    let queue = this.#queues.get(name);
    if (!queue) {
      queue = new NatsQueue(this.#host, name);
      this.#queues.set(name, queue);
      if (this.#opened) queue.adopt(this.#opened);
    }
    return queue;
  }

  adopt(opened: Opened): void {
    this.#opened = opened;
    for (const queue of this.#queues.values()) queue.adopt(opened);
  }

  /** What the server was asked for is forgotten. */
  interrupt(): void {
    for (const queue of this.#queues.values()) queue.interrupt();
  }

  /** Streams and consumers of those in use. */
  async provide(jetstream: Pick<Jetstream, "manager">): Promise<void> {
    for (const queue of this.#queues.values()) await queue.provide(jetstream);
  }
}

/** A queue: the messages of some subjects, each with whose it is, what it takes and its key in its subject. */
class NatsQueue implements WorkQueue {
  readonly #host: QueuesHost;
  readonly #name: string;
  readonly #consumer: string;
  #opened: Opened | undefined;
  #puller: Puller | undefined;
  /** Whether its stream and consumer were there once; later the link looks after them. */
  #provided: Promise<void> | undefined;

  constructor(host: QueuesHost, name: string) {
    this.#host = host;
    this.#name = name;
    this.#consumer = name.replaceAll(/[^\w-]/g, "_");
  }

  async add({ key, group, size }: QueuedItem, text: string): Promise<void> {
    await this.#ready();
    const { subjects, run } = this.#host;
    const subject = subjects.queued(this.#name, [group, String(size), key]);
    // The stream has all queues: a key of one must not be that of another.
    const id = `${this.#name} ${key}`;
    await run((request) => request.publish(subject, text, { "Nats-Msg-Id": id }));
  }

  async next(signal: AbortSignal): Promise<QueueDelivery | undefined> {
    if (!(await this.#host.link().whenConnected(signal))) return undefined;
    await this.#ready();
    const delivery = await this.#puller?.next(signal);
    return delivery && toWork(delivery);
  }

  async items(): Promise<readonly QueuedItem[]> {
    await this.#ready();
    const { subjects, run } = this.#host;
    const filter = subjects.queued(this.#name, [">"]);
    const found = await run((request) => request.subjects(subjects.queueStream, filter));
    return [...found.subjects.keys()].map((subject) => {
      const [group = "", size = "", key = ""] = subjects.queuedParts(subject);
      return { group, size: Number(size), key };
    });
  }

  adopt(opened: Opened): void {
    const { link, refused, subjects } = this.#host;
    this.#opened = opened;
    this.#puller = new Puller({
      connection: opened.connection,
      line: {
        connection: () => this.#opened!.connection,
        isConnected: () => link().status.isConnected,
        onGone: () => link().verify(),
      },
      stream: subjects.queueStream,
      consumer: this.#consumer,
      onRefusal: refused,
      createInbox: opened.createInbox,
    });
  }

  interrupt(): void {
    this.#puller?.interrupt();
  }

  async provide({ manager }: Pick<Jetstream, "manager">): Promise<void> {
    const { subjects, nats } = this.#host;
    const mayCreate = nats.provision === "create";
    const stream = subjects.queueStream;
    const settings = {
      storage: "file",
      retention: "workqueue",
      discard: "new",
      max_age: 0,
    } as const;
    await provideStream(
      manager,
      {
        create: {
          ...settings,
          name: stream,
          subjects: [subjects.allQueued],
          num_replicas: nats.replicas,
        },
        demands: { ...settings, no_ack: [false, undefined], sealed: [false, undefined] },
      },
      mayCreate,
    );
    const demands = {
      filter_subject: subjects.queued(this.#name, [">"]),
      ack_policy: "explicit",
      ack_wait: nanos(ACK_WAIT_MS),
      // How often a piece of work was begun is counted where it is kept.
      max_deliver: -1,
    } as const;
    const create = {
      ...demands,
      durable_name: this.#consumer,
      deliver_policy: "all",
      max_ack_pending: -1,
      max_waiting: MAX_WAITING,
    } as const;
    let isNew = false;
    const add = (): ReturnType<typeof manager.consumers.add> => {
      isNew = true;
      return manager.consumers.add(stream, create);
    };
    const what = `consumer ${this.#consumer}`;
    const look = (): ReturnType<typeof add> => manager.consumers.info(stream, this.#consumer);
    const { config } = await findOrAdd(what, look, mayCreate ? add : undefined);
    checkSettings(`${what} of stream ${stream}`, config, demands);
    // What was asked of one before is forgotten.
    if (isNew) this.interrupt();
  }

  /** @throws {GatewayError} what its stream is not as it must be in; whatever the server says */
  #ready(): Promise<void> {
    const opened = this.#opened;
    if (!opened) return Promise.reject(new GatewayError("unavailable", "NATS cannot be reached."));
    this.#provided ??= this.provide(opened).catch((error: unknown) => {
      this.#provided = undefined;
      throw error;
    });
    return this.#provided;
  }
}

function toWork(delivery: Delivery): QueueDelivery {
  return {
    text: Buffer.from(delivery.data).toString(),
    keep: () => delivery.keep(),
    ack: () => delivery.ack(),
    giveBack: (delay) => delivery.giveBack(delay),
  };
}
