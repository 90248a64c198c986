import { Answer, type Json } from "propylon";
import metrics from "propylon/plugins/metrics";
import { expect, it } from "vitest";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";
import { KNOWS, startTasks } from "./support.ts";

const told = (messages: readonly Json[]): readonly Json[] =>
  messages
    .filter(({ method }) => method === "notifications/tasks")
    .map(({ params }) => params as Json);

it("a stream is told how its tasks are, of each change, and of their ends with the results", async () => {
  const { begin, calls, listen, show } = await startTasks();
  const [id, other] = [await begin(), await begin()];
  await until(() => calls.length === 2);
  const { messages } = await listen({ taskIds: [id] });
  await until(() => told(messages).length === 1);
  expect(messages[0]).toMatchObject({
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: { taskIds: [id] } },
  });
  expect(told(messages)[0]).toMatchObject({
    taskId: id,
    status: "working",
    _meta: { "io.modelcontextprotocol/subscriptionId": "L" },
  });
  calls[0]!.ask().catch(() => {});
  await until(() => told(messages).some(({ status }) => status === "input_required"));
  calls[1]!.finish();
  calls[0]!.finish(Answer.result({ content: [], structuredContent: { words: "the end" } }));
  await until(() => told(messages).some(({ status }) => status === "completed"));
  const { resultType: _, _meta, ...ended } = await show(id);
  expect(told(messages).at(-1)).toMatchObject(ended);
  expect(JSON.stringify(messages)).not.toContain(other);
  expect(told(messages).filter(({ status }) => status === "completed")).toHaveLength(1);
});

it("one that has ended before is told at once", async () => {
  const { begin, calls, listen, show } = await startTasks();
  const id = await begin();
  await until(() => calls.length === 1);
  calls[0]!.finish();
  await until(async () => (await show(id))["status"] === "completed");
  const { messages } = await listen({ taskIds: [id] });
  await until(() => told(messages).length === 1);
  expect(told(messages)[0]).toMatchObject({ status: "completed" });
});

it("tasks of others and unknown ones are not acknowledged, and no more than a hundred", async () => {
  const { begin, listen } = await startTasks({ maxRunningEach: 1_000 });
  const ids = await Promise.all(Array.from({ length: 101 }, () => begin()));
  const stranger = await listen({ taskIds: [ids[0], "unknown"] }, "bob");
  await stranger.end;
  expect(stranger.messages).toMatchObject([
    { method: "notifications/subscriptions/acknowledged", params: { notifications: {} } },
    { result: { resultType: "complete" } },
  ]);
  const { messages } = await listen({ taskIds: ids });
  await until(() => messages.length > 0);
  const { notifications } = messages[0]!["params"] as { notifications: Json };
  expect(notifications["taskIds"]).toEqual(ids.slice(0, 100));
});

it("a client that does not declare tasks is refused, and so is a list that is none", async () => {
  const { listen } = await startTasks();
  const { refusal } = await listen({ taskIds: ["x"] }, "ada", {});
  expect(refusal).toMatchObject({ error: { code: -32021 } });
  for (const taskIds of ["x", [1], {}]) {
    const wrong = await listen({ taskIds }, "ada", KNOWS);
    expect(wrong.refusal ?? wrong.messages[0]).toMatchObject({ error: { code: -32602 } });
  }
});

it("of several gateways the end is told wherever its owner listens", async () => {
  const kept = new KeptStore({ shared: true });
  const first = await startTasks({}, { store: "kept" }, [kept.plugin]);
  const second = await startTasks({}, { store: "kept" }, [kept.plugin]);
  const id = await first.begin();
  await until(() => first.calls.length === 1);
  const { messages } = await second.listen({ taskIds: [id] });
  await until(() => told(messages).length === 1);
  first.calls[0]!.finish();
  const last = await until(() => told(messages).find(({ status }) => status === "completed"));
  expect(last).toMatchObject({ taskId: id, result: { content: [{ text: "ended" }] } });
});

it("what had no room is counted, by kind and bound", async () => {
  const { begin, call, calls, gateway } = await startTasks(
    { maxRunningEach: 1, maxTaskSize: 100 },
    {},
    [[metrics, { cacheTtl: 0 }]],
  );
  await begin();
  const plain = call();
  await until(() => calls.length === 2);
  calls[1]!.finish();
  await plain;
  calls[0]!.finish(Answer.result({ content: [{ type: "text", text: "x".repeat(200) }] }));
  const page = await until(async () => {
    const text = await (await gateway.manage()).metrics();
    return text.includes('bound="maxTaskSize"') && text;
  });
  expect(page).toContain('tasks_refused_total{kind="mcp",bound="maxRunningEach"} 1');
  expect(page).toContain('tasks_refused_total{kind="mcp",bound="maxTaskSize"} 1');
  expect(page).toContain('tasks_kept{kind="mcp"} 1');
  expect(page).toContain('tasks_running{kind="mcp"} 0');
});
