import { pino } from "pino";
import { GatewayError } from "propylon";
import { keepPrincipal } from "propylon/internal";
import { createPrincipal } from "propylon/kit";
import type { Store } from "propylon/store";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import type { Message, Task } from "../../../plugins/a2a/contract/index.ts";
import { ReplicaTasks } from "../../../plugins/a2a/tasks/replicas/replica-tasks.ts";

const TASK: Task = { id: "task", status: { state: "working" } };

const RECORD = {
  skill: "skill",
  task: TASK,
  taken: [],
  isAsking: false,
  isAbandoned: false,
  changedAt: 0,
};
const ADA = createPrincipal({ id: "ada", kind: "user", roles: new Set(["caller"]) });

/** A replica that asks itself as it asks others. */
function startStore(): Store {
  const gateway = new GatewayStore(new MemoryDriver(), pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  return { ...gateway.scope("a2a"), shared: true };
}

it("an answer that was delivered is told as that, although its task is gone by then", async () => {
  const store = startStore();
  const tasks = new ReplicaTasks(store);
  const delivered: unknown[] = [];
  const end = await tasks.serve({
    get: () => {
      throw new GatewayError("not_found", "No such task.");
    },
    cancel: () => Promise.reject(new Error("no")),
    answer: (message) => Promise.resolve(void delivered.push(message)),
    watch: () => () => {},
  });
  onTestFinished(end);
  const record = { ...RECORD, owner: ADA.ref, replica: store.replica };
  const message: Message = { messageId: "m", role: "user", parts: [{ type: "text", text: "yes" }] };
  await tasks.answer(record, message, keepPrincipal(ADA));
  expect(delivered).toMatchObject([{ messageId: "m", taskId: TASK.id }]);
  expect(await tasks.look(record)).toEqual(TASK);
  await expect(tasks.cancel(record)).rejects.toMatchObject({ code: "internal" });
});

it("a gateway tells others of 150 tasks of one principal at a time, and frees places that are left", async () => {
  const store = startStore();
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
