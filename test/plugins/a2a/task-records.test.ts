import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import type { LiveTask } from "../../../plugins/a2a/tasks/live-task.ts";
import { TaskRecords } from "../../../plugins/a2a/tasks/task-records.ts";
import type { TaskRecord } from "../../../plugins/a2a/tasks/task-record.ts";

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
  await records.close();
});
