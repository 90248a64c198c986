import { describe, expect, it } from "vitest";
import {
  type Answer,
  completed,
  idOf,
  sendJson,
  startBus,
  startRuntime,
  startSidecar,
  until,
  user,
} from "./kit.ts";

describe.each(["memory", "jetstream"] as const)("%s", (kind) => {
  async function start(
    options: Record<string, unknown> = {},
    answers: Record<string, Answer> = {},
  ) {
    const bus = kind === "jetstream" ? await startBus() : undefined;
    const runtime = await startRuntime(answers);
    const sidecar = await startSidecar({
      name: "coder",
      runtime: { url: runtime.url },
      ...(bus && { nats: { url: bus.server.url } }),
      backoff: { initial: "10ms", max: "20ms" },
      ...options,
    });
    await until(async () => (await fetch(`${sidecar.url}/sidecar/ready`)).ok);
    return { bus, runtime, ...sidecar };
  }

  it("R003, R006-R008: takes a task from the queue, forwards it as it is, and stores the result", async () => {
    const { queue, runtime } = await start();
    const request = user("Implement feature X", { messageId: "msg-abc123", taskId: "task-001" });
    expect(await queue.submit(request)).toEqual({ id: "task-001" });
    const found = await queue.result("task-001", { wait: 10_000 });
    expect(found?.task).toEqual(completed("task-001"));
    expect(runtime.tasks.map(({ body }) => body)).toEqual([request]);
  });

  it("does a task once, however often it is handed in", async () => {
    const { queue, runtime } = await start();
    await queue.submit(user("one", { taskId: "t1", messageId: "m1" }));
    await queue.result("t1", { wait: 10_000 });
    await queue.submit(user("one", { taskId: "t1", messageId: "m1" }));
    await queue.submit(user("other", { taskId: "t1", messageId: "m2" }));
    await queue.submit(user("last", { taskId: "t2" }));
    await queue.result("t2", { wait: 10_000 });
    expect(runtime.tasks.map(idOf)).toEqual(["t1", "t2"]);
  });

  it("goes on with a task that waits for input, with another message", async () => {
    const { queue, runtime } = await start(
      {},
      {
        "/": (asked, res) => {
          const id = idOf(asked);
          if (asked.body?.message.messageId === "m2") return sendJson(res, completed(id, "thanks"));
          sendJson(res, {
            id,
            status: {
              state: "input-required",
              message: { role: "agent", parts: [{ text: "Which?" }] },
            },
          });
        },
      },
    );
    await queue.submit(user("do", { taskId: "t1", messageId: "m1" }));
    const first = await queue.result("t1", { wait: 10_000 });
    expect(first?.task.status.state).toBe("input-required");
    await queue.submit(user("this", { taskId: "t1", messageId: "m2" }));
    await until(async () => (await queue.result("t1"))?.task.status.state === "completed");
    await queue.submit(user("do", { taskId: "t1", messageId: "m1" }));
    await queue.submit(user("end", { taskId: "t2" }));
    await queue.result("t2", { wait: 10_000 });
    expect(runtime.tasks).toHaveLength(3);
  });

  it("tries again after a failure that passes, and gives up with a failed result", async () => {
    let refusals = 2;
    const { queue, runtime } = await start(
      { maxDeliver: 3 },
      {
        "/": (asked, res) => {
          if (idOf(asked) === "doomed" || refusals-- > 0) return sendJson(res, {}, 500);
          sendJson(res, completed(idOf(asked)));
        },
      },
    );
    await queue.submit(user("a", { taskId: "lucky" }));
    expect((await queue.result("lucky", { wait: 10_000 }))?.task.status.state).toBe("completed");
    await queue.submit(user("a", { taskId: "doomed" }));
    const { task } = (await queue.result("doomed", { wait: 10_000 }))!;
    expect(task.status.state).toBe("failed");
    expect(task.metadata).toEqual({ deadLetter: { reason: "runtime_error", deliveries: 3 } });
    expect(runtime.tasks.map(idOf).filter((id) => id === "doomed")).toHaveLength(3);
  });

  it("waits for a runtime without room, and uses up no delivery", async () => {
    let refusals = 5;
    const { queue, runtime } = await start(
      { maxDeliver: 1 },
      {
        "/": (asked, res) =>
          refusals-- > 0 ? sendJson(res, {}, 429) : sendJson(res, completed(idOf(asked))),
      },
    );
    await queue.submit(user("a", { taskId: "patient" }));
    expect((await queue.result("patient", { wait: 10_000 }))?.task.status.state).toBe("completed");
    expect(runtime.tasks).toHaveLength(6);
  });

  it("gives up a task that a runtime without room keeps waiting for too long", async () => {
    const { queue } = await start(
      { maxDeliver: 1, timeout: "200ms" },
      { "/": (_, res) => sendJson(res, {}, 429) },
    );
    await queue.submit(user("a", { taskId: "late" }));
    const { task } = (await queue.result("late", { wait: 10_000 }))!;
    expect(task.metadata).toEqual({ deadLetter: { reason: "timeout", deliveries: 1 } });
  });
});
