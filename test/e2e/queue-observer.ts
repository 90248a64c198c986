import { readFile } from "node:fs/promises";
import { jetstream, jetstreamManager, type JetStreamManager, type JsMsg } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { taskSchema, textOf } from "propylon/contract";
import type { ExecutionEvent, Orders } from "../fixtures/runtime/types.ts";
import {
  checkHistory,
  type DeadLetterSeen,
  type Published,
  type QueueEvent,
  type ResultSeen,
  type Verdict,
} from "../fixtures/faults/history.ts";

/** A copy of every result that was ever stored: in the ledger itself a second one could have taken the place of the first. */
const SEEN = "SEEN_RESULTS";
const DEAD = "AGENT_DEAD";
/** Milliseconds for one request to a queue that may be down; the next is sent then. */
const REQUEST = 1_000;
/** Milliseconds in which a task would be delivered again, had it not been acked: some AckWaits. */
const BEHIND = 3_000;

/** Counts of the consumer. */
export interface Unfinished {
  readonly waiting: number;
  readonly running: number;
}

/** Hands tasks in, and sees what becomes of them, over a connection that no fault but those of nats-server itself touches. */
export class Observer {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #history: string;
  readonly #published: Published[] = [];

  private constructor(connection: NatsConnection, manager: JetStreamManager, history: string) {
    this.#connection = connection;
    this.#manager = manager;
    this.#history = history;
  }

  /** @param history file of the runtimes */
  static async open(url: string, history: string): Promise<Observer> {
    const connection = await connect({
      servers: url,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
      reconnectJitter: 10,
      waitOnFirstConnect: true,
    });
    const manager = await jetstreamManager(connection, { timeout: REQUEST, checkAPI: false });
    return new Observer(connection, manager, history);
  }

  /** Resolves when the sidecar has made its streams and its consumer, and the copy of the results is kept. */
  async begin(): Promise<void> {
    await this.#eventually(() => this.#manager.streams.info(DEAD));
    await this.#eventually(() => this.#manager.consumers.info("AGENT_TASKS", "worker"));
    await this.#eventually(() =>
      this.#manager.streams.add({ name: SEEN, mirror: { name: "AGENT_RESULTS" } }),
    );
  }

  /** Hands a task in; goes on until JetStream says that it has it, under one message id. */
  async publish(task: string, orders?: Orders, poison?: true): Promise<void> {
    const message = {
      messageId: `m-${task}`,
      taskId: task,
      role: "user",
      parts: [{ text: `text of ${task}` }],
      ...(orders && { metadata: { orders } }),
    };
    await this.#put(JSON.stringify({ message }), task);
    this.#published.push({ kind: "published", task, ...(poison && { poison }) });
  }

  /** Hands something in that is no task. */
  async publishNonsense(id: string): Promise<void> {
    await this.#put(`{"nonsense": "${id}"`, id);
    this.#published.push({ kind: "published", task: id, poison: true });
  }

  async #put(body: string, msgID: string): Promise<void> {
    const js = jetstream(this.#connection, { timeout: REQUEST });
    await this.#eventually(() => js.publish("agent.tasks.worker", body, { msgID }));
  }

  /** Again and again, because the server is killed meanwhile. */
  async #eventually<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      const asked = performance.now();
      try {
        return await request();
      } catch (error) {
        if (this.#connection.isClosed()) throw error;
        const wait = Math.max(0, 50 - (performance.now() - asked));
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /** How many results and dead letters there were. */
  async counts(): Promise<{ readonly results: number; readonly dead: number }> {
    return { results: await this.#count(SEEN), dead: await this.#count(DEAD) };
  }

  /** How many results the ledger has. */
  stored(): Promise<number> {
    return this.#count("AGENT_RESULTS");
  }

  async #count(stream: string): Promise<number> {
    return (await this.#eventually(() => this.#manager.streams.info(stream))).state.messages;
  }

  /** Tasks that nobody has acked: those that wait and those that are with a sidecar. */
  async unacked(): Promise<number> {
    const { waiting, running } = await this.unfinished();
    return waiting + running;
  }

  /** What nats-server says of the consumer: tasks that wait, and those that are with a sidecar. */
  async unfinished(): Promise<Unfinished> {
    const { num_pending, num_ack_pending } = await this.#eventually(() =>
      this.#manager.consumers.info("AGENT_TASKS", "worker"),
    );
    return { waiting: num_pending, running: num_ack_pending };
  }

  /** Resolves when nothing waits for an ack. */
  async acked(): Promise<void> {
    while ((await this.unacked()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Resolves when the ledger has so many results. */
  async answered(count: number): Promise<void> {
    while ((await this.stored()) < count) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Resolves when all that was handed in is answered or given up, and nothing waits; or nothing happened for so long. */
  async settled(patience = 30_000): Promise<void> {
    const published = this.#published.length;
    const poisonous = this.#published.filter(({ poison }) => poison).length;
    let last = "";
    let changed = performance.now();
    for (;;) {
      const { results, dead } = await this.counts();
      const unacked = await this.unacked();
      const isDone = results >= published && dead >= poisonous;
      if (isDone && unacked === 0) return;
      const state = `${results} ${dead} ${unacked}`;
      if (state !== last) [last, changed] = [state, performance.now()];
      // After a SIGKILL nats-server 2.9 counts some tasks as unacked for ever, which it removed and never delivers again.
      if (performance.now() - changed > (isDone ? BEHIND : patience)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** What the runtimes have written down so far. */
  async #executions(): Promise<ExecutionEvent[]> {
    const text = await readFile(this.#history, "utf8").catch(() => "");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ExecutionEvent);
  }

  /** Everything there is to know. */
  async events(): Promise<QueueEvent[]> {
    const dead = await this.#all(DEAD);
    // What cannot be read has no id of its own; the sidecar's word for it is in the dead letter.
    const names = new Map(dead.map((letter) => [letter.headers?.get("Dead-Task"), nameOf(letter)]));
    return [
      ...this.#published,
      ...(await this.#executions()),
      ...dead.map(deadLetterOf),
      ...(await this.#all(SEEN)).map((message) => resultOf(message, names)),
    ];
  }

  async verdict(): Promise<Verdict> {
    return checkHistory(await this.events());
  }

  /** How often a task was begun, and how often ended. */
  async executions(task: string): Promise<{ readonly starts: number; readonly ends: number }> {
    const mine = (await this.#executions()).filter((event) => event.task === task);
    const starts = mine.filter(({ kind }) => kind === "start").length;
    return { starts, ends: mine.length - starts };
  }

  /** Resolves when a runtime has begun a task so many times. */
  async started(task: string, times = 1): Promise<void> {
    while ((await this.executions(task)).starts < times)
      await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** Every message of a stream, in order. */
  async #all(stream: string): Promise<JsMsg[]> {
    const consumer = await jetstream(this.#connection).consumers.get(stream);
    const { num_pending: pending } = await consumer.info();
    const messages: JsMsg[] = [];
    if (pending === 0) return messages;
    for await (const message of await consumer.consume()) {
      messages.push(message);
      if (messages.length === pending) break;
    }
    return messages;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

function resultOf(message: JsMsg, names: ReadonlyMap<string | undefined, string>): ResultSeen {
  const { id, status, artifacts = [] } = taskSchema.parse(message.json());
  const parts = status.message?.parts ?? artifacts.flatMap((artifact) => artifact.parts);
  return { kind: "result", task: names.get(id) ?? id, state: status.state, output: textOf(parts) };
}

/** What was given up is kept as it came, nonsense too. */
function nameOf(letter: JsMsg): string {
  const found = /"taskId":"([^"]+)"|"nonsense": "([^"]+)"/.exec(letter.string());
  return found?.[1] ?? found?.[2] ?? "";
}

function deadLetterOf(letter: JsMsg): DeadLetterSeen {
  const reason = letter.headers?.get("Dead-Message") ?? "";
  return { kind: "dead", task: nameOf(letter), reason };
}
