import { expect, it } from "vitest";
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

const options = (bus: Bus, runtime: { readonly url: string }, more: object = {}) => ({
  name: "coder",
  runtime: { url: runtime.url },
  nats: { url: bus.server.url },
  backoff: { initial: "10ms", max: "20ms" },
  ...more,
});

/** A sidecar that takes tasks already. */
async function startReady(given: Record<string, unknown>) {
  const sidecar = await startSidecar(given);
  await until(async () => (await statusOf(sidecar.url)).state === "ready");
  return sidecar;
}

it("runs a task that takes longer than ackWait once", async () => {
  const bus = await startBus();
  const work = deferred();
  const slow: Answer = async (asked, res) => {
    await work.promise;
    sendJson(res, completed(idOf(asked)));
  };
  const runtimes = [await startRuntime({ "/": slow }), await startRuntime({ "/": slow })];
  const [first] = await Promise.all(
    runtimes.map((runtime) => startReady(options(bus, runtime, { ackWait: "2s" }))),
  );
  await first!.queue.submit(user("a", { taskId: "t" }));
  await until(() => runtimes.some(({ tasks }) => tasks.length > 0));
  const begun = performance.now();
  // A machine with other work may stand still for a second; what is acked in time must not be told from that.
  await until(() => performance.now() - begun > 6_000);
  work.resolve();
  await first!.queue.result("t", { wait: 10_000 });
  expect(runtimes.flatMap(({ tasks }) => tasks)).toHaveLength(1);
  const { delivered } = await bus.manager.consumers.info("AGENT_TASKS", "coder");
  expect(delivered.consumer_seq).toBe(1);
});

it("waits for a NATS server that is not there yet, and says so", async () => {
  const bus = await startBus();
  await bus.server.kill();
  const runtime = await startRuntime();
  const { queue, url } = await startSidecar(options(bus, runtime));
  const waiting = await until(async () => {
    const found = await statusOf(url);
    return found.runtime.healthy && found.queue.reason?.startsWith("NATS cannot") && found;
  });
  expect([waiting.queue.connected, waiting.state]).toEqual([false, "starting"]);
  expect((await fetch(`${url}/sidecar/ready`)).status).toBe(503);
  await expect(queue.submit(user("a", { taskId: "t" }))).rejects.toThrow("NATS cannot be reached");
  await bus.server.start();
  await until(async () => (await statusOf(url)).state === "ready");
  await queue.submit(user("a", { taskId: "t" }));
  expect((await queue.result("t", { wait: 10_000 }))?.task.status.state).toBe("completed");
});

it("keeps a result that it cannot store, and stores it once NATS is back", async () => {
  const bus = await startBus();
  const work = deferred();
  const answered = deferred();
  const runtime = await startRuntime({
    "/": async (asked, res) => {
      await work.promise;
      sendJson(res, completed(idOf(asked)));
      res.once("close", answered.resolve);
    },
  });
  const { queue, url } = await startSidecar(options(bus, runtime));
  await until(async () => (await statusOf(url)).state === "ready");
  await queue.submit(user("a", { taskId: "t" }));
  await until(() => runtime.tasks.length === 1);
  await bus.server.kill("SIGKILL");
  await until(async () => !(await statusOf(url)).queue.connected);
  work.resolve();
  await answered.promise;
  await bus.server.start();
  await until(async () => (await statusOf(url)).state === "ready");
  const found = await queue.result("t", { wait: 15_000 });
  expect(found?.task.status.state).toBe("completed");
  await until(async () => (await bus.manager.streams.info("AGENT_TASKS")).state.messages === 0);
  expect(runtime.tasks).toHaveLength(1);
});

it("does not run again what has a result, when the ack was lost", async () => {
  const bus = await startBus();
  const runtime = await startRuntime();
  const { queue } = await startReady(options(bus, runtime));
  await queue.submit(user("a", { taskId: "t", messageId: "m" }));
  await queue.result("t", { wait: 10_000 });
  // What a worker leaves behind that dies between its result and its ack.
  await bus.connection.request("agent.tasks.coder", JSON.stringify(user("a", { taskId: "t" })));
  await until(async () => (await bus.manager.streams.info("AGENT_TASKS")).state.messages === 0);
  expect(runtime.tasks).toHaveLength(1);
  expect((await bus.manager.streams.info("AGENT_RESULTS")).state.messages).toBe(1);
});

it("R059: takes no more tasks at a shutdown, and lets the running one end, be stored and acked", async () => {
  const bus = await startBus();
  const work = deferred();
  const runtime = await startRuntime({
    "/": async (asked, res) => {
      await work.promise;
      sendJson(res, completed(idOf(asked)));
    },
  });
  const { queue, gateway } = await startReady(options(bus, runtime));
  await queue.submit(user("a", { taskId: "running" }));
  await queue.submit(user("b", { taskId: "waiting" }));
  await until(() => runtime.tasks.length === 1);
  const closed = gateway.close({ grace: 10_000 });
  work.resolve();
  await closed;
  expect(runtime.tasks.map(idOf)).toEqual(["running"]);
  const results = await bus.manager.streams.getMessage("AGENT_RESULTS", { seq: 1 });
  expect(results?.subject).toBe("agent.results.running");
  const info = await bus.manager.consumers.info("AGENT_TASKS", "coder");
  expect([info.num_ack_pending, info.num_pending]).toEqual([0, 1]);
});

it("hands a task to another worker at once when the grace time is over", async () => {
  const bus = await startBus();
  const runtime = await startRuntime({ "/": () => {} });
  const first = await startReady(options(bus, runtime, { grace: "100ms" }));
  await first.queue.submit(user("a", { taskId: "t" }));
  await until(() => runtime.tasks.length === 1);
  const other = await startRuntime();
  const { queue } = await startReady(options(bus, other));
  const begun = performance.now();
  await first.gateway.close({ grace: 10_000 });
  const found = await queue.result("t", { wait: 10_000 });
  expect(found?.task.status.state).toBe("completed");
  // ackWait is 30 s: nobody waited for it.
  expect(performance.now() - begun).toBeLessThan(10_000);
});

it("drains by route: answers once the running task has ended, and takes no other", async () => {
  const bus = await startBus();
  const work = deferred();
  const runtime = await startRuntime({
    "/": async (asked, res) => {
      await work.promise;
      sendJson(res, completed(idOf(asked)));
    },
  });
  const { queue, url } = await startReady(options(bus, runtime));
  await queue.submit(user("a", { taskId: "t" }));
  await queue.submit(user("b", { taskId: "u" }));
  await until(() => runtime.tasks.length === 1);
  const drained = fetch(`${url}/sidecar/drain`, { method: "POST" });
  await until(async () => (await statusOf(url)).state === "draining");
  work.resolve();
  expect(await (await drained).json()).toMatchObject({ state: "stopped", running: [] });
  expect(runtime.tasks.map(idOf)).toEqual(["t"]);
});

it.each([
  ["AGENT_RESULTS", "max_msgs_per_subject", { subjects: ["agent.results.*"] }],
  ["AGENT_TASKS", "retention", { subjects: ["agent.tasks.>"], retention: "interest" }],
  ["AGENT_DEAD", "max_age", { subjects: ["agent.dead.*"] }],
] as const)(
  "names the setting of a stream that is not as it must be: %s %s",
  async (name, setting, config) => {
    const bus = await startBus();
    const { subjects, ...rest } = config;
    await bus.manager.streams.add({ name, subjects: [...subjects], ...rest });
    const { url } = await startSidecar(options(bus, await startRuntime()));
    const failed = await until(async () => {
      const found = await statusOf(url);
      return found.state === "failed" && found;
    });
    expect(failed.reason).toContain(`The stream ${name} has ${setting} `);
  },
);

it("creates nothing when it shall only verify", async () => {
  const bus = await startBus();
  const nats = { url: bus.server.url, provision: "verify" };
  const { url } = await startSidecar(options(bus, await startRuntime(), { nats }));
  const failed = await until(async () => {
    const found = await statusOf(url);
    return found.state === "failed" && found;
  });
  expect(failed.reason).toBe("The stream AGENT_TASKS does not exist.");
  expect((await bus.manager.getAccountInfo()).streams).toBe(0);
});

it("says so when the credentials cannot be read, without their place", async () => {
  const bus = await startBus();
  const nats = { url: bus.server.url, credentials: "absent/nats.creds" };
  const { url } = await startSidecar(options(bus, await startRuntime(), { nats }));
  const failed = await until(async () => {
    const found = await statusOf(url);
    return found.state === "failed" && found;
  });
  expect(failed.reason).toBe("The file of nats.credentials (NATS_CREDS) cannot be read (ENOENT).");
});

it("C01: subjects and streams have the names that the config gives them", async () => {
  const bus = await startBus();
  const { queue } = await startReady(
    options(bus, await startRuntime(), {
      subjects: { tasks: "t", results: "r", status: "s", dead: "d" },
      streams: { tasks: "T", results: "R", dead: "D" },
    }),
  );
  await until(() => bus.manager.consumers.info("T", "coder").catch(() => undefined));
  await queue.submit(user("a", { taskId: "a.b c" }));
  await queue.result("a.b c", { wait: 10_000 });
  const found = await bus.manager.streams.getMessage("R", { seq: 1 });
  expect(found?.subject).toBe(`r.~${Buffer.from("a.b c").toString("base64url")}`);
});
