import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import type { Task } from "../../../plugins/a2a/contract/index.ts";
import { ReplicaTasks } from "../../../plugins/a2a/tasks/replicas/replica-tasks.ts";

const TASK: Task = { id: "task", status: { state: "working" } };

it("a gateway tells others of 150 tasks of one principal at a time, and frees places that are left", async () => {
  const gateway = new GatewayStore(new MemoryDriver(), pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  const store = { ...gateway.scope("a2a"), shared: true };
  let watched = 0;
  const end = await new ReplicaTasks(store).serve({
    get: () => ({ task: TASK }),
    cancel: () => Promise.reject(new Error("no")),
    answer: () => Promise.resolve(),
    watch: (_id, _owner, listener) => {
      watched++;
      listener({ task: TASK });
      return () => watched--;
    },
  });
  onTestFinished(end);
  const { signal } = new AbortController();
  const readers: AsyncIterator<unknown>[] = [];
  const follow = (owner: string): Promise<string> => {
    const events = store.ask(store.replica, "events", { id: "task", owner }, signal);
    const reader = events[Symbol.asyncIterator]();
    readers.push(reader);
    return reader.next().then(
      () => "told",
      (error: { readonly code: string }) => error.code,
    );
  };
  const codes = await Promise.all(Array.from({ length: 152 }, () => follow("user:ada")));
  expect(codes.slice(149)).toEqual(["told", "unavailable", "unavailable"]);
  expect(watched).toBe(150);
  expect(await follow("user:ben")).toBe("told");
  for (const reader of readers) await reader.return?.();
  await expect.poll(() => watched).toBe(0);
  expect(await follow("user:ada")).toBe("told");
});
