import { Role, TaskState, type Message, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { describe, expect, it } from "vitest";
import type { Task as ContractTask } from "../../../plugins/a2a/contract/index.ts";
import { messageOf, post, startScripted } from "../a2a-contract/kit.ts";
import { BINDINGS, connect, say, sending, startTck, text } from "./kit.ts";

const { TASK_STATE_INPUT_REQUIRED, TASK_STATE_COMPLETED } = TaskState;

const send = async (client: Client, message: Message): Promise<Task> =>
  (await client.sendMessage(sending(message, { returnImmediately: false }))) as Task;

/** What the user said, in order. */
const said = ({ history }: Task): string[] =>
  history.flatMap(({ role, parts }) =>
    role === Role.ROLE_USER ? parts.map(({ content }) => String(content?.value)) : [],
  );

const USED = /messageId was used for another message/;

describe.each(BINDINGS)("a messageId that is used again, through %s", (binding) => {
  it("39: for an answer to a task that waits is another message, and the same one again is none", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const first = say("tck-input-required", { parts: [text("one")] });
    const { id: taskId } = await send(client, first);
    const second = { ...first, taskId, parts: [text("two")] };
    expect(said(await send(client, second))).toEqual(["one", "two"]);
    for (const again of [first, second])
      expect(said(await send(client, { ...again, taskId }))).toEqual(["one", "two"]);
    const done = await send(client, say("tck-complete-task", { taskId, parts: [text("three")] }));
    expect(done.status?.state).toBe(TASK_STATE_COMPLETED);
    expect(said(done)).toEqual(["one", "two", "three"]);
  });

  it("39: for another message is refused while its task lives, and the same message meets the task", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const first = say("tck-input-required", { parts: [text("one")] });
    const { id } = await send(client, first);
    await expect(send(client, { ...first, parts: [text("two")] })).rejects.toThrow(USED);
    const again = await send(client, first);
    expect(again).toMatchObject({ id, status: { state: TASK_STATE_INPUT_REQUIRED } });
    expect(said(again)).toEqual(["one"]);
  });

  it("39: for another message to a task at work is refused", async () => {
    const { url } = await startTck();
    const client = await connect(url, binding);
    const first = say("test-resubscribe-message-id", { parts: [text("one")] });
    const started = sending(first, { returnImmediately: true });
    const { id: taskId } = (await client.sendMessage(started)) as Task;
    const follow = { ...first, taskId, parts: [text("two")] };
    await expect(send(client, follow)).rejects.toThrow(USED);
    await client.cancelTask({ tenant: "", id: taskId, metadata: undefined });
  });
});

it("39: a used messageId with other content is refused in contract v1, and a retry is answered as before", async () => {
  const { url } = await startScripted();
  const body = (words: string): string => messageOf(words, { messageId: "m-1" });
  const first = await post(url, body("hello"));
  expect(first.status).toBe(200);
  const other = await post(url, body("something else"));
  expect(other.status).toBe(409);
  expect(other.text).toMatch(USED);
  const again = await post(url, body("hello"));
  expect(JSON.parse(again.text)).toEqual(JSON.parse(first.text) as ContractTask);
});
