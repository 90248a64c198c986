import { connect as connectSocket } from "node:net";
import { once } from "node:events";
import type { StreamConfig } from "@nats-io/jetstream";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../../kit/deferred.ts";
import {
  completed,
  idOf,
  sendJson,
  startBus,
  startRuntime,
  startSidecar,
  statusOf,
  until,
  user,
  type Answer,
  type Bus,
} from "./kit.ts";

interface Parts {
  readonly answers?: Record<string, Answer>;
  readonly options?: Record<string, unknown>;
  readonly bus?: Bus;
}

async function start({ answers = {}, options = {}, bus: given }: Parts = {}) {
  const bus = given ?? (await startBus());
  const runtime = await startRuntime(answers);
  const sidecar = await startSidecar({
    name: "coder",
    runtime: { url: runtime.url, interval: "100ms" },
    nats: { url: bus.server.url },
    backoff: { initial: "10ms", max: "20ms" },
    ...options,
  });
  await until(async () => (await statusOf(sidecar.url)).state === "ready");
  return { bus, runtime, ...sidecar };
}

const handIn = ({ connection }: Bus, body: unknown) =>
  connection.request("agent.tasks.coder", JSON.stringify(body), { timeout: 5_000 });

/** Publishes a task with a header as it stands, which no client of NATS would write. */
async function publishRaw(bus: Bus, header: string, body: string): Promise<void> {
  const socket = connectSocket(bus.server.port, "127.0.0.1");
  await once(socket, "data");
  const head = `NATS/1.0\r\n${header}\r\n\r\n`;
  const size = Buffer.byteLength(head);
  const total = size + Buffer.byteLength(body);
  socket.write(`CONNECT {"verbose":false,"headers":true}\r\n`);
  socket.write(`HPUB agent.tasks.coder ${size} ${total}\r\n${head}${body}\r\nPING\r\n`);
  await once(socket, "data");
  socket.destroy();
}

const isEmpty = ({ manager }: Bus) =>
  until(async () => (await manager.streams.info("AGENT_TASKS")).state.messages === 0);

describe("what anybody may write", () => {
  it("stores the result of a message whose id has line breaks and spaces", async () => {
    const { bus, queue } = await start();
    await handIn(bus, user("a", { taskId: "t", messageId: " two\r\nlines " }));
    expect((await queue.result("t", { wait: 10_000 }))?.task).toEqual(completed("t"));
    await isEmpty(bus);
  });

  it("gives up a task whose id holds half a character, and goes on with the next", async () => {
    const { bus, queue, runtime } = await start();
    await handIn(bus, user("a", { taskId: "half \ud800" }));
    await handIn(bus, user("b", { taskId: "t" }));
    expect((await queue.result("t", { wait: 10_000 }))?.task).toEqual(completed("t"));
    const letter = await bus.manager.streams.getMessage("AGENT_DEAD", { seq: 1 });
    expect(letter?.header.get("Dead-Reason")).toBe("invalid_request");
    expect(runtime.tasks.map(idOf)).toEqual(["t"]);
    await expect(queue.submit(user("a", { taskId: "\udfff" }))).rejects.toThrow("half a character");
  });

  it("runs a task with a header that has no name, and the next", async () => {
    const { bus, queue, runtime } = await start();
    await publishRaw(bus, "no name here: x", JSON.stringify(user("a", { taskId: "t" })));
    await handIn(bus, user("b", { taskId: "u" }));
    expect((await queue.result("u", { wait: 10_000 }))?.task).toEqual(completed("u"));
    expect(runtime.tasks.map(idOf)).toEqual(["t", "u"]);
  });

  it.each(["a.b", "*", ">", " ", "ü/ä?#", "~dA", "x".repeat(5_000), "\n", "constructor"])(
    "keeps the task %j to itself",
    async (id) => {
      const { bus, queue } = await start();
      await handIn(bus, user("a", { taskId: id }));
      expect((await queue.result(id, { wait: 10_000 }))?.task).toEqual(completed(id));
      expect((await bus.manager.streams.info("AGENT_RESULTS")).state.messages).toBe(1);
    },
  );
});

describe("limits of the queue", () => {
  it("keeps a result that fits the server while the server is away", async () => {
    const bus = await startBus("max_payload: 4MB");
    const work = deferred();
    const answered = deferred();
    const { queue, runtime, url } = await start({
      bus,
      answers: {
        "/": async (asked, res) => {
          await work.promise;
          sendJson(res, completed(idOf(asked), "x".repeat(2_000_000)));
          res.once("close", answered.resolve);
        },
      },
    });
    await queue.submit(user("a", { taskId: "t" }));
    // Running is not enough: before it asks the runtime, the sidecar looks into the ledger, and would wait for the server.
    await until(() => runtime.tasks.length === 1);
    await bus.server.kill();
    await until(async () => !(await statusOf(url)).queue.connected);
    work.resolve();
    await answered.promise;
    await bus.server.start();
    await until(async () => (await statusOf(url)).state === "ready");
    expect((await queue.result("t", { wait: 15_000 }))?.task.status.state).toBe("completed");
  });

  it("gives up with a failed result what the stream of results takes less of than the server", async () => {
    const answer: Answer = (asked, res) => {
      const id = idOf(asked);
      sendJson(res, completed(id, id === "large" ? "x".repeat(10_000) : "done"));
    };
    const { bus, queue, runtime } = await start({ answers: { "/": answer } });
    const { config } = await bus.manager.streams.info("AGENT_RESULTS");
    await bus.manager.streams.update("AGENT_RESULTS", { ...config, max_msg_size: 2_000 });
    await queue.submit(user("a", { taskId: "large" }));
    const { task } = (await queue.result("large", { wait: 10_000 }))!;
    expect(task.status.state).toBe("failed");
    expect(JSON.stringify(task)).toContain("the stream of results takes less");
    await queue.submit(user("b", { taskId: "fits" }));
    expect((await queue.result("fits", { wait: 10_000 }))?.task).toEqual(completed("fits"));
    expect(runtime.tasks.map(idOf)).toEqual(["large", "fits"]);
  });

  it("says that nothing can be stored, takes no other task, and stores it once there is room", async () => {
    const { bus, queue, runtime, url } = await start({ options: { concurrency: 3 } });
    const { config } = await bus.manager.streams.info("AGENT_RESULTS");
    await bus.manager.streams.update("AGENT_RESULTS", { ...config, max_msgs: 1 });
    await queue.submit(user("a", { taskId: "a" }));
    await queue.result("a", { wait: 10_000 });
    await queue.submit(user("b", { taskId: "b" }));
    const waiting = await until(async () => {
      const found = await statusOf(url);
      return found.state === "waiting" && found;
    });
    expect(waiting.reason).toBe("The queue takes nothing: maximum messages exceeded.");
    await queue.submit(user("c", { taskId: "c" }));
    expect(runtime.tasks.map(idOf)).toEqual(["a", "b"]);
    await bus.manager.streams.update("AGENT_RESULTS", { ...config, max_msgs: -1 });
    expect((await queue.result("b", { wait: 15_000 }))?.task).toEqual(completed("b"));
    expect((await queue.result("c", { wait: 15_000 }))?.task).toEqual(completed("c"));
    expect(runtime.tasks.map(idOf)).toEqual(["a", "b", "c"]);
  });

  it("asks slowly a consumer that takes fewer requests than there are lanes", async () => {
    const bus = await startBus();
    const subjects = ["agent.tasks.>"];
    await bus.manager.streams.add({ name: "AGENT_TASKS", subjects, retention: "workqueue" });
    await bus.manager.consumers.add("AGENT_TASKS", {
      durable_name: "coder",
      filter_subject: "agent.tasks.coder",
      ack_policy: "explicit",
      ack_wait: 30e9,
      max_deliver: -1,
      max_waiting: 1,
    });
    let count = 0;
    bus.connection.subscribe("$JS.API.CONSUMER.MSG.NEXT.>", { callback: () => void count++ });
    const { queue } = await start({ bus, options: { concurrency: 4 } });
    const begun = performance.now();
    await until(() => performance.now() - begun > 1_500);
    expect(count).toBeLessThan(20);
    await queue.submit(user("a", { taskId: "t" }));
    expect((await queue.result("t", { wait: 10_000 }))?.task).toEqual(completed("t"));
  });
});

describe("what others do to the streams meanwhile", () => {
  it("stores a result again that was taken out a moment ago", async () => {
    const { bus, queue, runtime } = await start();
    await queue.submit(user("a", { taskId: "t" }));
    await queue.result("t", { wait: 10_000 });
    await bus.manager.streams.purge("AGENT_RESULTS");
    await handIn(bus, user("a", { taskId: "t" }));
    expect((await queue.result("t", { wait: 10_000 }))?.task).toEqual(completed("t"));
    expect(runtime.tasks).toHaveLength(2);
  });

  it.each([
    ["consumer", (bus: Bus) => bus.manager.consumers.delete("AGENT_TASKS", "coder")],
    ["stream", (bus: Bus) => bus.manager.streams.delete("AGENT_TASKS")],
  ] as const)("goes on when the %s is deleted while a task runs", async (_, remove) => {
    const work = deferred();
    const { bus, queue, runtime } = await start({
      answers: {
        "/": async (asked, res) => {
          await work.promise;
          sendJson(res, completed(idOf(asked)));
        },
      },
    });
    await queue.submit(user("a", { taskId: "t" }));
    await until(() => runtime.tasks.length === 1);
    await remove(bus);
    work.resolve();
    expect((await queue.result("t", { wait: 10_000 }))?.task).toEqual(completed("t"));
    await until(() => queue.submit(user("b", { taskId: "u" })).catch(() => undefined));
    expect((await queue.result("u", { wait: 20_000 }))?.task).toEqual(completed("u"));
    expect(runtime.tasks.map(idOf)).toEqual(["t", "u"]);
  });

  const TASKS: Pick<StreamConfig, "name" | "subjects" | "retention"> = {
    name: "AGENT_TASKS",
    subjects: ["agent.tasks.>"],
    retention: "workqueue",
  };
  const CONSUMER = {
    durable_name: "coder",
    filter_subject: "agent.tasks.coder",
    ack_policy: "explicit",
    ack_wait: 30e9,
    max_deliver: -1,
  } as const;

  it.each([
    ["stream AGENT_TASKS has max_age 1000000000; it must be 0", { max_age: 1e9 }, {}],
    [`stream AGENT_TASKS has discard "old"; it must be new`, { max_msgs: 10 }, {}],
    [`stream AGENT_TASKS has storage "memory"; it must be file`, { storage: "memory" }, {}],
    ["has headers_only true; it must be false or not set", {}, { headers_only: true }],
  ] as const)("names what would lose tasks: the %s", async (words, stream, consumer) => {
    const bus = await startBus();
    await bus.manager.streams.add({ ...TASKS, ...stream });
    await bus.manager.consumers.add("AGENT_TASKS", { ...CONSUMER, ...consumer });
    const { url } = await startSidecar({
      name: "coder",
      runtime: { url: (await startRuntime()).url },
      nats: { url: bus.server.url },
    });
    const failed = await until(async () => {
      const found = await statusOf(url);
      return found.state === "failed" && found;
    });
    expect(failed.reason).toContain(words);
  });
});

it("R089: fails and does not end when a runtime that is healthy says later that it is of another contract", async () => {
  const manifest = {
    contractVersion: "v2",
    runtime: { name: "r", version: "1" },
    conformanceLevel: 1,
  };
  let isThere = false;
  const { url } = await start({
    answers: { "/runtime-contract.json": (_, res) => sendJson(res, manifest, isThere ? 200 : 503) },
  });
  isThere = true;
  const failed = await until(async () => {
    const found = await statusOf(url);
    return found.state === "failed" && found;
  });
  expect(failed.reason).toBe("The runtime implements contract v2.");
});

describe("the queue in memory", () => {
  it("delivers again after a failure, whatever becomes of the clock", async () => {
    let failures = 1;
    const runtime = await startRuntime({
      "/": (asked, res) => {
        if (failures-- === 0) return sendJson(res, completed(idOf(asked)));
        // Somebody sets the clock right, an hour back.
        const real = Date.now.bind(Date);
        vi.spyOn(Date, "now").mockImplementation(() => real() - 3_600_000);
        sendJson(res, {}, 500);
      },
    });
    const { queue } = await startSidecar({
      runtime: { url: runtime.url },
      backoff: { initial: "10ms", max: "20ms" },
    });
    try {
      await queue.submit(user("a", { taskId: "t" }));
      expect((await queue.result("t", { wait: 5_000 }))?.task).toEqual(completed("t"));
    } finally {
      vi.restoreAllMocks();
    }
  });

  it("is full of large tasks before the process is", async () => {
    const { queue } = await startSidecar({ work: false });
    const text = "x".repeat(48 * 1_024 * 1_024);
    const ids = ["1", "2", "3", "4", "5"];
    for (const id of ids) await queue.submit(user(text, { taskId: id }));
    await expect(queue.submit(user(text, { taskId: "6" }))).rejects.toThrow("holds 5 tasks");
  });
});
