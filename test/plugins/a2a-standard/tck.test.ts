import { fileURLToPath } from "node:url";
import { Role, TaskState, type Message, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { pino } from "pino";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createFileGateway } from "../../../core/index.ts";
import { all, BINDINGS, connect, kindsOf, say, sending } from "./kit.ts";

const CONFIG = fileURLToPath(new URL("../../fixtures/a2a-tck/gateway.yaml", import.meta.url));

afterEach(() => vi.unstubAllEnvs());

/** What the documented command starts, on a free port. */
async function startAgent(): Promise<string> {
  vi.stubEnv("A2A_TCK_PORT", "0");
  const gateway = await createFileGateway(CONFIG, { log: pino({ level: "silent" }) });
  onTestFinished(() => gateway.close({ grace: 0 }));
  await gateway.listen();
  return gateway.addresses.get("main")!.url;
}

async function taskOf(client: Client, prefix: string): Promise<Task> {
  return (await client.sendMessage(sending(say(prefix)))) as Task;
}

describe.each(BINDINGS)("the agent of the TCK through %s", (binding) => {
  it("reacts to every prefix of a message", async () => {
    const client = await connect(await startAgent(), binding);
    const partsFor = async (prefix: string) => {
      const { status, artifacts } = await taskOf(client, prefix);
      expect(status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
      return artifacts.flatMap(({ parts }) => parts);
    };
    const FILE = { mediaType: "text/plain", filename: "output.txt" };
    expect(await partsFor("tck-complete-task")).toMatchObject([
      { content: { $case: "text", value: "Hello from TCK" } },
    ]);
    expect(await partsFor("tck-artifact-text")).toMatchObject([
      { content: { $case: "text", value: "Generated text content" } },
    ]);
    expect(await partsFor("tck-artifact-file")).toMatchObject([
      { ...FILE, content: { $case: "raw", value: Buffer.from("tck") } },
    ]);
    expect(await partsFor("tck-artifact-file-url")).toMatchObject([
      { ...FILE, content: { $case: "url", value: "https://example.com/output.txt" } },
    ]);
    expect(await partsFor("tck-artifact-data")).toMatchObject([
      { content: { $case: "data", value: { key: "value", count: 42 } } },
    ]);
    expect(await partsFor("something-else")).toMatchObject([
      { content: { value: expect.stringContaining("something-else") } },
    ]);
  });

  it("asks, rejects, and answers with a message", async () => {
    const client = await connect(await startAgent(), binding);
    const waiting = await taskOf(client, "tck-input-required");
    expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const next = say("tck-complete-task", { taskId: waiting.id });
    const done = (await client.sendMessage(sending(next))) as Task;
    expect(done).toMatchObject({ id: waiting.id, contextId: waiting.contextId });
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    const rejected = await taskOf(client, "tck-reject-task");
    expect(rejected.status?.state).toBe(TaskState.TASK_STATE_REJECTED);
    const answer = (await client.sendMessage(sending(say("tck-message-response")))) as Message;
    expect(answer).toMatchObject({
      role: Role.ROLE_AGENT,
      parts: [{ content: { value: "Direct message response" } }],
    });
  });

  it("makes a new task of every message without one, though the kit uses ids again", async () => {
    const client = await connect(await startAgent(), binding);
    const message = say("tck-input-required");
    const first = (await client.sendMessage(sending(message))) as Task;
    await client.cancelTask({ tenant: "", id: first.id, metadata: undefined });
    const second = (await client.sendMessage(sending(message))) as Task;
    expect(second.id).not.toBe(first.id);
    expect(second.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  });

  it("streams: the task, then changes, then its end", async () => {
    const client = await connect(await startAgent(), binding);
    for (const [prefix, values] of Object.entries(STREAMS)) {
      const events = await all(client.sendMessageStream(sending(say(prefix))));
      const kinds = kindsOf(events);
      expect([kinds[0], kinds.lastIndexOf("task")]).toEqual(["task", 0]);
      const artifacts = events.flatMap(({ payload }) =>
        payload?.$case === "artifactUpdate" ? [payload.value] : [],
      );
      expect(
        artifacts.flatMap(({ artifact }) => artifact!.parts.map(({ content }) => content?.value)),
      ).toEqual(values);
      // The last update has the whole artifact, and pieces that nobody has read by then are left out.
      expect(artifacts.map(({ append }) => append)).toEqual(values.map(() => false));
      expect(artifacts.map(({ lastChunk }) => lastChunk)).toEqual(
        values.map((_, index) => index === values.length - 1),
      );
      expect(events.at(-1)?.payload).toMatchObject({
        $case: "statusUpdate",
        value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
      });
    }
  });
});

it("works long enough to be lost and found again, through either binding", async () => {
  const url = await startAgent();
  const lose = async (binding: (typeof BINDINGS)[number]) => {
    const client = await connect(url, binding);
    const stream = client.sendMessageStream(sending(say("test-resubscribe-message-id")));
    const first = (await stream.next()).value;
    const task = first?.payload?.$case === "task" ? first.payload.value : undefined;
    await stream.return();
    const events = await all(client.resubscribeTask({ tenant: "", id: task!.id }));
    expect(events[0]?.payload).toMatchObject({ $case: "task", value: { id: task!.id } });
    expect(events.at(-1)?.payload).toMatchObject({
      value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
    });
  };
  await Promise.all(BINDINGS.map(lose));
});

/** The artifacts' values by the prefix of the message that streams them. */
const STREAMS: Readonly<Record<string, readonly unknown[]>> = {
  "tck-stream-001": ["Stream hello from TCK"],
  "tck-stream-002": ["Direct message response"],
  "tck-stream-003": ["Stream task lifecycle"],
  "tck-stream-ordering-001": ["Ordered output"],
  "tck-stream-artifact-text": ["Streamed text content"],
  "tck-stream-artifact-file": [Buffer.from("tck")],
  "tck-stream-artifact-chunked": ["chunk-1 chunk-2"],
};
