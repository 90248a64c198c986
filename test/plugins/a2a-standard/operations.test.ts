import { TaskState, type StreamResponse, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { describe, expect, it, vi } from "vitest";
import { definePlugin, type Json } from "../../../core/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import {
  all,
  BINDINGS,
  connect,
  keyFor,
  kindsOf,
  rpc,
  say,
  send,
  sending,
  startTck,
} from "./kit.ts";

/** Work that nobody's test waits for to end. */
const LONG = "test-resubscribe-message-id";

async function startTask(client: Client, prefix: string, configuration = {}): Promise<Task> {
  return (await client.sendMessage(sending(say(prefix), configuration))) as Task;
}

const startLong = (client: Client): Promise<Task> =>
  startTask(client, LONG, { returnImmediately: true });

function stateIn({ payload }: StreamResponse): TaskState | undefined {
  return payload && "status" in payload.value ? payload.value.status?.state : undefined;
}

describe.each(BINDINGS)("A2A 1.0 through %s", (binding) => {
  it("T24: sends a message and waits for the end of its task", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const task = await startTask(client, "tck-artifact-text");
    expect(task).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      contextId: expect.stringMatching(/./),
      status: { state: TaskState.TASK_STATE_COMPLETED },
      history: [{ parts: [{ content: { value: "hello" } }] }],
    });
    expect(task.status?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it("returns at once when asked to, and the task can be read until its end", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const task = await startLong(client);
    expect([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING]).toContain(
      task.status?.state,
    );
    const read = await client.getTask({ tenant: "", id: task.id });
    expect(read.id).toBe(task.id);
  });

  it("cancels a task; a stream of it ends with that, and nothing cancels it twice", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const { id } = await startLong(client);
    const events = all(client.resubscribeTask({ tenant: "", id }));
    const cancelled = await client.cancelTask({ tenant: "", id, metadata: undefined });
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const last = (await events).at(-1)!;
    expect(stateIn(last)).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.cancelTask({ tenant: "", id, metadata: undefined })).rejects.toThrow(
      /canceled already/,
    );
  });

  it("goes on with a task whose stream lost its reader", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const stream = client.sendMessageStream(sending(say(LONG)));
    const { payload } = (await stream.next()).value as StreamResponse;
    const { id } = payload!.value as Task;
    await stream.return();
    const task = await client.getTask({ tenant: "", id });
    expect(stateIn({ payload: { $case: "task", value: task } })).toBe(TaskState.TASK_STATE_WORKING);
    await client.cancelTask({ tenant: "", id, metadata: undefined });
  });

  it("keeps a subscription through a question until the end of the task", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const waiting = await startTask(client, "tck-input-required");
    const stream = client.resubscribeTask({ tenant: "", id: waiting.id });
    const first = (await stream.next()).value as StreamResponse;
    expect(stateIn(first)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const rest = all(stream);
    await client.sendMessage(sending(say("tck-stream-001", { taskId: waiting.id })));
    const events = await rest;
    expect(kindsOf(events)).not.toContain("task");
    expect(kindsOf(events)).toContain("artifactUpdate");
    expect(stateIn(events.at(-1)!)).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it("ends the stream of a message with the question that it leads to", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const events = await all(client.sendMessageStream(sending(say("tck-input-required"))));
    expect(stateIn(events.at(-1)!)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  });

  it("shows as much of the history as asked for", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const { id } = await startTask(client, "tck-input-required");
    const next = say("tck-complete-task", { taskId: id });
    const none = (await client.sendMessage(sending(next, { historyLength: 0 }))) as Task;
    expect(none.history).toEqual([]);
    const whole = await client.getTask({ tenant: "", id });
    expect(whole.history.length).toBeGreaterThan(1);
    const one = await client.getTask({ tenant: "", id, historyLength: 1 });
    expect(one.history).toEqual(whole.history.slice(-1));
    const [first] = await all(
      client.sendMessageStream(sending(say("tck-stream-001"), { historyLength: 0 })),
    );
    expect((first!.payload!.value as Task).history).toEqual([]);
  });

  it("lists tasks, the one that changed last first, in pages", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const tasks: Task[] = [];
    for (const prefix of ["tck-artifact-text", "tck-artifact-text", "tck-input-required"])
      tasks.push(await startTask(client, prefix));
    const ids = tasks.map(({ id }) => id).toReversed();
    const request = {
      tenant: "",
      contextId: "",
      status: 0,
      pageToken: "",
      statusTimestampAfter: undefined,
    };
    const first = await client.listTasks({ ...request, pageSize: 2 });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3 });
    const second = await client.listTasks({
      ...request,
      pageSize: 2,
      pageToken: first.nextPageToken,
    });
    expect(second.nextPageToken).toBe("");
    const shown = [...first.tasks, ...second.tasks];
    expect(shown.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    const times = shown.map(({ status }) => status!.timestamp!);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(shown.every(({ artifacts }) => artifacts.length === 0)).toBe(true);
  });

  it("lists by context, state and time, with artifacts and history when asked for", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const done = await startTask(client, "tck-artifact-text");
    const waiting = await startTask(client, "tck-input-required");
    const idsOf = async (filter: object) => {
      const request = {
        tenant: "",
        contextId: "",
        status: 0,
        pageToken: "",
        statusTimestampAfter: undefined,
      };
      return (await client.listTasks({ ...request, ...filter })).tasks.map(({ id }) => id);
    };
    expect(await idsOf({ contextId: done.contextId })).toEqual([done.id]);
    expect(await idsOf({ status: TaskState.TASK_STATE_INPUT_REQUIRED })).toEqual([waiting.id]);
    expect(await idsOf({ statusTimestampAfter: "2999-01-01T00:00:00Z" })).toEqual([]);
    expect(await idsOf({ statusTimestampAfter: done.status!.timestamp })).toHaveLength(2);
    const { tasks } = await client.listTasks({
      tenant: "",
      contextId: done.contextId,
      status: 0,
      pageToken: "",
      statusTimestampAfter: undefined,
      includeArtifacts: true,
      historyLength: 0,
    });
    expect(tasks[0]).toMatchObject({ artifacts: [{ parts: [{}] }], history: [] });
  });

  it("S1-4: the message of one principal is no message of another", async () => {
    const keys = { one: "one-key-0123456789", two: "two-key-0123456789" };
    const auth = {
      keys: Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, keyFor(key)])),
    };
    const { url } = await startTck({ config: { auth } });
    const message = rawMessage();
    const made = await Promise.all(
      Object.values(keys).map((key) =>
        rpc(url, "SendMessage", { message }, { authorization: `Bearer ${key}` }),
      ),
    );
    const [one, two] = made.map(({ body }) => body.result!.task);
    expect(one!.id).not.toBe(two!.id);
    expect(one!.contextId).not.toBe(two!.contextId);
    for (const { body } of made)
      expect(body).toMatchObject({
        result: { task: { status: { state: "TASK_STATE_COMPLETED" } } },
      });
  });

  it("T4: finds no task of another principal", async () => {
    const keys = { one: "one-key-0123456789", two: "two-key-0123456789" };
    const auth = {
      keys: Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, keyFor(key)])),
    };
    const { url } = await startTck({ config: { auth } });
    const as = (key: string) => ({ authorization: `Bearer ${key}` });
    const call = (key: string, method: string, params: object) => rpc(url, method, params, as(key));
    const made = await call(keys.one, "SendMessage", { message: rawMessage() });
    const { id } = made.body.result!.task;
    for (const method of ["GetTask", "CancelTask", "SubscribeToTask"])
      expect((await call(keys.two, method, { id })).body).toMatchObject({
        error: { code: -32001 },
      });
    const rest = await send(`${url}/tasks/${id}`, { method: "GET", headers: as(keys.two) });
    expect(rest.status).toBe(404);
    expect((await call(keys.two, "ListTasks", {})).body).toMatchObject({ result: { tasks: [] } });
    expect((await call(keys.one, "GetTask", { id })).body).toMatchObject({ result: { id } });
    expect((await send(`${url}/tasks/${id}`, { method: "GET" })).status).toBe(401);
  });
});

function rawMessage(rest: object = {}): object {
  const { messageId } = say("tck-complete-task");
  return { messageId, role: "ROLE_USER", parts: [{ text: "hi" }], ...rest };
}

it("lets messages pass in read-only mode, which is about the gateway", async () => {
  const { url } = await startTck({ config: { management: { readOnly: true } } });
  const answer = await send(`${url}/message:send`, { body: { message: rawMessage() } });
  expect(answer.body).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
});

it("lies below the path of the runtime", async () => {
  const { url } = await startTck({ options: { path: "/agents/one" } });
  const client = await connect(url, "HTTP+JSON");
  const { id } = await startTask(client, "tck-complete-task");
  expect(await send(`${url}/agents/one/tasks/${id}`, { method: "GET" })).toMatchObject({
    status: 200,
    type: "application/a2a+json",
    body: { id },
  });
});

it("takes an id with a colon for an id, and only what follows the last one for an operation", async () => {
  const { url } = await startTck();
  const message = { messageId: "m:1", taskId: "a:cancel", role: "user", parts: [{ text: "hi" }] };
  await send(url, { body: { message } });
  const read = await send(`${url}/tasks/${encodeURIComponent("a:cancel")}`, { method: "GET" });
  expect(read.body).toMatchObject({ id: "a:cancel" });
  const cancelled = await send(`${url}/tasks/${encodeURIComponent("a:cancel")}:cancel`, {
    body: {},
  });
  expect(cancelled).toMatchObject({
    status: 400,
    body: { error: { status: "FAILED_PRECONDITION" } },
  });
});

it("R056: streams of tasks at work end with their tasks when the gateway drains, those that wait at once", async () => {
  const { url, gateway } = await startTck();
  const client = await connect(url, "JSONRPC");
  const waiting = await startTask(client, "tck-input-required");
  const stream = client.resubscribeTask({ tenant: "", id: waiting.id });
  await stream.next();
  const working = client.sendMessageStream(sending(say(LONG)));
  await working.next();
  const begun = Date.now();
  const closing = gateway.close({ grace: 100 });
  expect(await all(stream)).toEqual([]);
  const events = await all(working);
  expect([TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED]).toContain(
    stateIn(events.at(-1)!),
  );
  await closing;
  expect(Date.now() - begun).toBeLessThan(PATIENCE * 4_000);
});

it("T1: carries the trace of a request into the call, and nothing else of its headers", async () => {
  const seen = vi.fn<(meta: Json | undefined) => void>();
  const spy = definePlugin({
    name: "spy",
    setup: (gateway) =>
      gateway.use("gate", (call, next) => {
        seen(call.meta);
        return next(call);
      }),
  });
  const { url } = await startTck({ plugins: [spy] });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await rpc(url, "SendMessage", { message: rawMessage() }, { traceparent, cookie: "a=secret" });
  expect(seen).toHaveBeenCalledWith(expect.objectContaining({ traceparent }));
  expect(JSON.stringify(seen.mock.calls)).not.toContain("secret");
});
