import { expect, it, onTestFinished, vi } from "vitest";
import { createPrincipal } from "../../../core/kit.ts";
import { OwnTask } from "../../../plugins/tasks/own-task.ts";
import type { TaskLimits } from "../../../plugins/tasks/service.ts";
import { TaskMemory } from "../../../plugins/tasks/task-memory.ts";

const MUCH = 1_000_000;
const LIMITS: TaskLimits = {
  maxRunning: 100,
  maxRunningEach: 100,
  maxTasks: 100,
  maxTasksEach: 100,
  maxTaskSize: MUCH,
  maxTotalSize: MUCH,
  maxTotalSizeEach: MUCH,
  ttl: 60_000,
  evicts: false,
};

function setupMemory(limits: Partial<TaskLimits> = {}) {
  const forgotten: string[] = [];
  const memory = new TaskMemory({ ...LIMITS, ...limits }, ({ name }) => void forgotten.push(name));
  onTestFinished(() => memory.clear());
  const begin = (name: string, owner = "ann"): OwnTask => {
    const principal = createPrincipal({ kind: "user", id: owner, roles: new Set(["caller"]) });
    const task = new OwnTask(
      { kind: "task", ttl: LIMITS.ttl } as never,
      {
        principal,
        server: "desk",
        name,
      } as never,
    );
    memory.add(task);
    return task;
  };
  const end = (task: OwnTask, text = ""): void =>
    memory.settle(task, {
      state: "completed",
      endedAt: new Date().toISOString(),
      end: text === "" ? undefined : { response: text },
    });
  return { memory, begin, end, forgotten };
}

it("a task is kept for its time behind its end, to the millisecond", () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { memory, begin, end, forgotten } = setupMemory();
  const [first, second] = [begin("first"), begin("second")];
  end(first);
  vi.advanceTimersByTime(1);
  end(second);
  vi.advanceTimersByTime(59_998);
  expect([memory.has(first), memory.has(second)]).toEqual([true, true]);
  vi.advanceTimersByTime(1);
  expect(forgotten).toEqual(["first"]);
  vi.advanceTimersByTime(1);
  expect(forgotten).toEqual(["first", "second"]);
  expect(memory.counts).toMatchObject({ running: 0, kept: 0 });
});

it("a result is taken up to the bytes of all, and of one owner", () => {
  const { memory, begin, end } = setupMemory({ maxTotalSize: 100, maxTotalSizeEach: 60 });
  const takes = (owner: string, size: number): boolean =>
    memory.takes({ ref: owner }, { response: "x".repeat(size) });
  end(begin("first"), "x".repeat(20));
  const ann = begin("second").owner.ref;
  expect([takes(ann, 40), takes(ann, 41)]).toEqual([true, false]);
  expect([takes("user:bob", 60), takes("user:bob", 61)]).toEqual([true, false]);
  end(begin("third", "bob"), "x".repeat(50));
  expect([takes("user:eve", 30), takes("user:eve", 31)]).toEqual([true, false]);
  expect(Object.fromEntries(memory.counts.refused)).toEqual({
    maxTotalSizeEach: 2,
    maxTotalSize: 1,
  });
});

it("where old results make room, the oldest go, and the last one stays however large it is", () => {
  const { begin, end, memory, forgotten } = setupMemory({ evicts: true, maxTotalSize: 100 });
  end(begin("first"), "x".repeat(50));
  end(begin("second"), "x".repeat(50));
  expect(forgotten).toEqual([]);
  end(begin("third"), "x".repeat(60));
  expect(forgotten).toEqual(["first", "second"]);
  end(begin("fourth"), "x".repeat(200));
  expect(forgotten).toEqual(["first", "second", "third"]);
  expect(memory.counts.kept).toBe(1);
});

it("a task is known by itself, and not by an id that another one has", () => {
  const { memory, begin } = setupMemory();
  const task = begin("first");
  const twin = Object.create(task) as OwnTask;
  expect([memory.has(task), memory.has(twin)]).toEqual([true, false]);
  memory.forget(task);
  expect([memory.has(task), memory.get(task.id)]).toEqual([false, undefined]);
});

it("who watches a task hears of its end when it runs no more", () => {
  const { memory, begin, end } = setupMemory();
  const task = begin("first");
  const told: unknown[] = [];
  task.watch(() => told.push([task.state, memory.counts.running]));
  end(task);
  expect(told).toEqual([["completed", 0]]);
});

it("who has as many as one owner may is refused while there is room, and anybody is when there is none", () => {
  const { memory, begin, end } = setupMemory({ maxTasks: 3, maxTasksEach: 2 });
  const [ann, bob] = [{ ref: "user:ann" }, { ref: "user:bob" }];
  for (const name of ["first", "second"]) end(begin(name));
  memory.makeRoom(bob);
  expect(() => memory.makeRoom(ann)).toThrow("2 tasks are kept already.");
  end(begin("third", "bob"));
  expect(() => memory.makeRoom(bob)).toThrow("3 tasks are kept already.");
  expect(Object.fromEntries(memory.counts.refused)).toEqual({ maxTasksEach: 1, maxTasks: 1 });
});
