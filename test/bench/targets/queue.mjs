/**
 * The floors of the sidecar: a loop on the JetStream client that takes tasks and acks them, one after the other. With `runtime`
 * (a URL) it does by hand what a sidecar must: it posts the task, publishes the answer with a message id, and acks then.
 */
import { AckPolicy, RetentionPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Agent, request } from "undici";

const { url, runtime } = JSON.parse(process.argv[2]);
const connection = await connect({ servers: url });
const manager = await jetstreamManager(connection);
const js = jetstream(connection);
const dispatcher = new Agent({ connections: 1 });

await manager.streams.add({
  name: "TASKS",
  subjects: ["agent.tasks.*"],
  retention: RetentionPolicy.Workqueue,
});
await manager.streams.add({ name: "RESULTS", subjects: ["agent.results.*"] });
await manager.consumers.add("TASKS", { durable_name: "bench", ack_policy: AckPolicy.Explicit });
const consumer = await js.consumers.get("TASKS", "bench");
process.send({ port: 0 });

/** Posts the task; resolves with the answer. */
async function forward(data) {
  const { statusCode, body } = await request(runtime, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: data,
    dispatcher,
  });
  if (statusCode !== 200) throw new Error(`the runtime answered ${statusCode}`);
  return body.text();
}

for await (const message of await consumer.consume()) {
  const { taskId } = message.json().message;
  if (runtime) {
    const task = await forward(message.data);
    await js.publish(`agent.results.${taskId}`, task, { msgID: taskId });
  }
  message.ack();
  // Nothing of JetStream: only so that the load generator knows.
  if (!runtime) connection.publish(`bench.done.${taskId}`);
}
