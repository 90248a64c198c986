import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, createInbox } from "@nats-io/transport-node";
import { setTimeout as sleep } from "node:timers/promises";
import { Puller } from "../../../dist/modules/plugins/nats/queue/puller.js";
import { startNats } from "../../fixtures/nats/nats.mjs";

const STREAM = "TASKS";
const ROUNDS = 200;
const ACK_WAIT_MS = 2_000;

/** Tasks that arrive in the moment in which a worker stops listening: how many are lost to the others until `ackWait`. */
export async function puller() {
  const server = await startNats();
  try {
    const lines = [];
    for (const [name, listen] of Object.entries({ ours, consume, fetch })) {
      const { late, longest } = await stopInTheMoment(server.url, name, listen);
      lines.push(`${name}: ${late} of ${ROUNDS} tasks waited for ackWait, longest ${longest} ms`);
    }
    return lines;
  } finally {
    await server.stop();
  }
}

/** A worker that waits for one task and is stopped as one is published; another worker takes what is left. */
async function stopInTheMoment(url, name, listen) {
  const connection = await connect({ servers: url });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: STREAM, subjects: ["tasks.*"] });
  await manager.consumers.add(STREAM, {
    durable_name: name,
    ack_policy: "explicit",
    ack_wait: ACK_WAIT_MS * 1_000_000,
  });
  const client = jetstream(connection);
  const consumer = await client.consumers.get(STREAM, name);
  const waits = [];
  for (let round = 0; round < ROUNDS; round++) {
    const stop = await listen({ connection, consumer, name });
    await sleep(2);
    const published = performance.now();
    const stored = client.publish("tasks.one", "{}");
    // From before the task is on its way to after it came.
    for (let spin = 0; spin < round % 20; spin++) await new Promise(setImmediate);
    const has = await stop();
    await stored;
    if (!has) {
      const message = await consumer.next({ expires: 2 * ACK_WAIT_MS });
      message?.ack();
      waits.push(performance.now() - published);
    }
    await connection.flush();
  }
  await manager.streams.delete(STREAM);
  await connection.close();
  const late = waits.filter((wait) => wait > ACK_WAIT_MS / 2).length;
  return { late, longest: Math.round(Math.max(0, ...waits)) };
}

async function ours({ connection, name }) {
  const line = { connection: () => connection, isConnected: () => true, onGone() {} };
  const own = new Puller({
    connection,
    line,
    stream: STREAM,
    consumer: name,
    onRefusal() {},
    createInbox,
  });
  const abort = new AbortController();
  const pulled = own.next(abort.signal);
  return async () => {
    abort.abort();
    const delivery = await pulled;
    await delivery?.ack();
    return delivery !== undefined;
  };
}

/** The client's endless stream of messages, one at a time. */
async function consume({ consumer }) {
  return stopOf(await consumer.consume({ max_messages: 1, expires: 20_000 }));
}

/** The client's request for one message. */
async function fetch({ consumer }) {
  return stopOf(await consumer.fetch({ max_messages: 1, expires: 20_000 }));
}

function stopOf(messages) {
  let taken;
  const done = (async () => {
    for await (const message of messages) {
      taken = message;
      message.ack();
      break;
    }
  })();
  return async () => {
    messages.stop();
    await done;
    return taken !== undefined;
  };
}
