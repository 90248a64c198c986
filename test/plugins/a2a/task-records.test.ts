import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { Succession } from "../../../plugins/a2a/tasks/replicas/succession.ts";
import type { StreamEvent } from "../../../plugins/a2a/contract/index.ts";
import type { LiveTask } from "../../../plugins/a2a/tasks/task/live-task.ts";
import { LocalTasks } from "../../../plugins/a2a/tasks/task/local-tasks.ts";
import type { TaskDependencies } from "../../../plugins/a2a/tasks/task/tasks-at-work.ts";
import { TaskRecords } from "../../../plugins/a2a/tasks/task/task-records.ts";
import type { TaskRecord } from "../../../plugins/a2a/tasks/task/task-record.ts";
import { until } from "../../kit/until.ts";

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

const owner = { ref: "user:ada" };

/** A task that a replica works on. */
function workingAt(replica: string): TaskRecord {
  const left = taskOf(owner.ref, "task").toRecord(replica);
  const task = { ...left.task, artifacts: [], history: [] };
  return { ...left, task: { ...task, status: { state: "working" } } };
}

/** The tasks of one of two replicas of a store. */
function tasksOf(
  driver: MemoryDriver,
  gateway = new GatewayStore(driver, pino({ level: "silent" })),
): LocalTasks {
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
    await one.records.swap(workingAt("gone"), 0);
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

it("a copy of a task that another replica goes on with is dropped, and takes nothing out of the store", async () => {
  const driver = new SharedMemory();
  const [one, two] = [tasksOf(driver), tasksOf(driver)];
  const asking = workingAt(one.records.replica);
  const rev = await one.records.swap(asking, 0);
  const stale = one.make({ id: "task", contextId: "c", owner, skill: "work", record: asking });
  one.store.add(stale);
  await two.records.swap(workingAt(two.records.replica), rev!);
  one.finish(stale, () => stale.move("failed", [{ text: "no answer" }]));
  await stale.confirmed;
  expect(one.find("task", owner)).toBeUndefined();
  one.makeRoom(Date.now() + 60_001);
  await one.records.close(2_000);
  expect(await two.records.read("task", owner)).toMatchObject({
    replica: two.records.replica,
    task: { status: { state: "working" } },
  });
});

it("the end of a task of a queue, at a replica that is gone since, is kept no longer than others", async () => {
  const driver = new SharedMemory();
  const gateway = new GatewayStore(driver, pino({ level: "silent" }));
  await gateway.join();
  const tasks = tasksOf(driver, gateway);
  const { records, store } = tasks;
  const succession = new Succession({
    records,
    store,
    make: (given) => tasks.make(given),
    finish: (task, move) => tasks.finish(task, move),
    tell: () => {},
    waits: (task) => tasks.waits(task),
    isHandedOut: ({ queued }) => queued !== undefined,
    putBack: () => Promise.resolve(),
  });
  const sender = { ref: owner.ref, roles: ["caller" as const] };
  const record: TaskRecord = {
    ...workingAt("gone"),
    queued: { ticket: "1", runs: 1, taken: 1, sender },
  };
  const rev = await records.swap(record, 0);
  expect(await succession.locate("task", owner)).toEqual(record);
  const ended = { ...record, task: { ...record.task, status: { state: "completed" as const } } };
  await tasksOf(driver).records.swap(ended, rev!);
  await succession.sweep();
  expect(store.find("task", owner)?.state).toBe("completed");
  tasks.makeRoom(Date.now() + 60_001);
  await until(async () => (await records.read("task", owner)) === undefined);
});
