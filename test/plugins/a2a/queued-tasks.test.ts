import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import type { StreamEvent, TaskState } from "../../../plugins/a2a/contract/index.ts";
import { QueuedTasks } from "../../../plugins/a2a/tasks/replicas/queued-tasks.ts";
import type { TaskRecord } from "../../../plugins/a2a/tasks/task/task-record.ts";
import { TaskRecords } from "../../../plugins/a2a/tasks/task/task-records.ts";

/** A task that a replica works on. */
const recordOf = (state: TaskState): TaskRecord => ({
  owner: "user:ada",
  skill: "skill",
  task: { id: "task", contextId: "context", status: { state }, artifacts: [], history: [] },
  taken: [0],
  isAsking: false,
  isAbandoned: false,
  changedAt: Date.now(),
  replica: "another replica",
  queued: { ticket: "1", runs: 1, taken: 1, sender: { ref: "user:ada", roles: ["caller"] } },
});

/** Those who look at it here, with how often it is followed at its replica, and read. */
async function start() {
  const gateway = new GatewayStore(new MemoryDriver(), pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  const records = new TaskRecords(gateway.scope("a2a"));
  let [following, reads, rev] = [0, 0, 0];
  const entry = records.entry.bind(records);
  records.entry = (key) => (reads++, entry(key));
  const tasks = new QueuedTasks({
    records,
    follow: () => {
      following++;
      return () => following--;
    },
  });
  onTestFinished(await tasks.start());
  const record = recordOf("working");
  rev = (await records.swap(record, rev))!;
  return {
    tasks,
    record,
    following: () => following,
    reads: () => reads,
    write: async (state: TaskState) => (rev = (await records.swap(recordOf(state), rev))!),
  };
}

it("a task is followed and read once, however many look at it", async () => {
  const { tasks, record, following, reads, write } = await start();
  const views = Array.from({ length: 100 }, () => tasks.open(record));
  const settled = views.map((view) => view.settled);
  for (const view of views) onTestFinished(view.watch(() => {}));
  settled.push(tasks.open(record).settled);
  await expect.poll(following).toBe(1);
  await write("completed");
  const ends = await Promise.all(settled);
  expect(new Set(ends.map(({ status }) => status.state))).toEqual(new Set(["completed"]));
  expect(following()).toBe(0);
  expect(reads()).toBeLessThan(10);
});

it("one that nobody looks at any more is not followed, and is when somebody does again", async () => {
  const { tasks, record, following, reads, write } = await start();
  for (let turn = 0; turn < 1_000; turn++) {
    const stop = tasks.follow(record, () => {});
    if (turn % 2 === 0) stop();
    else setImmediate(stop);
  }
  await expect.poll(following).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  const before = reads();
  await write("working");
  const told: StreamEvent[] = [];
  onTestFinished(tasks.follow(record, (event) => told.push(event)));
  await expect.poll(following).toBe(1);
  await write("completed");
  await expect.poll(() => JSON.stringify(told.at(-1))).toContain("completed");
  expect(reads() - before).toBeLessThan(10);
  expect(following()).toBe(0);
});
