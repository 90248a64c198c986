import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import type { StreamEvent } from "../../../plugins/a2a/contract/index.ts";
import type { LiveTask } from "../../../plugins/a2a/tasks/task/live-task.ts";
import { LocalTasks } from "../../../plugins/a2a/tasks/task/local-tasks.ts";
import type { TaskDependencies } from "../../../plugins/a2a/tasks/task/tasks-at-work.ts";
import { TaskRecords } from "../../../plugins/a2a/tasks/task/task-records.ts";
import type { TaskRecord } from "../../../plugins/a2a/tasks/task/task-record.ts";

class SharedMemory extends MemoryDriver {
  override readonly shared = true as never;
  override readonly durable = true as never;
}

function taskOf(ref: string, id: string): LiveTask {
  const record = (replica: string): TaskRecord => ({
    owner: ref,
    skill: "work",
    task: { id, contextId: "c", kind: "task", status: { state: "completed" } },
    taken: [],
    isAsking: false,
    isAbandoned: false,
    changedAt: 1,
    replica,
  });
  return { id, owner: { ref }, toRecord: record } as unknown as LiveTask;
}

it.each([
  ["a short name", "key:ada"],
  ["a name that fits into no key", `jwt:https://login.example.com#${"ada".repeat(200)}`],
  [
    "a name that fits into one, but not with the id",
    `jwt:https://login.example.com#${"a".repeat(470)}`,
  ],
])("the tasks of a principal with %s are found, and nobody else's", async (_, ref) => {
  const gateway = new GatewayStore(new SharedMemory(), pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  const records = new TaskRecords(gateway.scope("a2a"));
  for (const owner of [ref, `${ref}x`])
    for (const id of ["one", "x".repeat(36)]) await records.save(taskOf(owner, id));
  const found: string[] = [];
  for await (const { owner, task } of records.of({ ref })) {
    expect(owner).toBe(ref);
    found.push(task.id);
  }
  expect(found.toSorted()).toEqual(["one", "x".repeat(36)]);
  await records.close(2_000);
});

/** The tasks of one of two replicas of a store. */
function tasksOf(driver: MemoryDriver): LocalTasks {
  const gateway = new GatewayStore(driver, pino({ level: "silent" }));
  const tasks = new LocalTasks(new TaskRecords(gateway.scope("a2a")));
  onTestFinished(() => tasks.records.close(2_000).then(() => gateway.close()));
  const options = { maxTasks: 10, maxTaskSize: 1_000, maxTotalSize: 10_000, ttl: 60_000 };
  tasks.adopt({ options } as TaskDependencies);
  return tasks;
}

it.each(["completed", "failed"] as const)(
  "a task that two replicas end is %s as the first has stored it, at both",
  async (state) => {
    const driver = new SharedMemory();
    const [one, two] = [tasksOf(driver), tasksOf(driver)];
    const owner = { ref: "user:ada" };
    const left = taskOf(owner.ref, "task").toRecord("gone");
    const record = { ...left, task: { ...left.task, artifacts: [], history: [] } };
    record.task.status = { state: "working" };
    await one.records.swap(record, 0);
    const inherit = async (tasks: LocalTasks): Promise<LiveTask> => {
      const found = (await tasks.records.find("task", owner))!;
      return tasks.make({ id: "task", contextId: "c", owner, skill: "work", record: found });
    };
    const [first, second] = [await inherit(one), await inherit(two)];
    const told: StreamEvent[] = [];
    second.watch((event) => told.push(event));
    one.finish(first, () => first.move(state, [{ text: "first" }]));
    const end = await first.settled;
    two.finish(second, () => second.move("failed", [{ text: "second" }]));
    expect(await second.settled).toEqual(end);
    expect(second.task).toEqual(end);
    expect(told.slice(1)).toEqual([{ task: end }]);
    expect((await two.records.read("task", owner))!.task).toEqual(end);
  },
);
