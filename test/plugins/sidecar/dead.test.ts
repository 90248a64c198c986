import { headers, type MsgHdrs } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
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

async function start(answers: Record<string, Answer> = {}, options: Record<string, unknown> = {}) {
  const bus = await startBus();
  const runtime = await startRuntime(answers);
  const sidecar = await startSidecar({
    name: "coder",
    runtime: { url: runtime.url },
    nats: { url: bus.server.url },
    backoff: { initial: "10ms", max: "20ms" },
    ...options,
  });
  // Not the consumer: that is there for others a moment before the sidecar hears of it.
  await until(async () => (await statusOf(sidecar.url)).queue.connected);
  return { bus, runtime, ...sidecar };
}

/** The newest dead letter, once there are so many. */
async function deadLetter({ manager }: Bus, count = 1) {
  await until(async () => (await manager.streams.info("AGENT_DEAD")).state.messages >= count);
  const found = await manager.streams.getMessage("AGENT_DEAD", {
    last_by_subj: "agent.dead.coder",
  });
  return { body: Buffer.from(found!.data), header: (name: string) => found!.header.get(name) };
}

function handIn({ connection }: Bus, body: Uint8Array, given?: MsgHdrs) {
  return connection.request("agent.tasks.coder", body, {
    timeout: 5_000,
    ...(given && { headers: given }),
  });
}

describe("a task that is none", () => {
  it.each([
    ["invalid_json", Buffer.from("{not json")],
    ["invalid_json", Buffer.from([0x22, 0xff, 0x22])],
    ["invalid_request", Buffer.from("null")],
    ["invalid_request", Buffer.from(`{"message":{"role":"system","parts":[]}}`)],
  ])("is given up at once as %s, stored as it came: %s", async (reason, body) => {
    const { bus, runtime, queue } = await start();
    await handIn(bus, body);
    const { body: kept, header } = await deadLetter(bus);
    expect([kept, header("Dead-Reason"), header("Dead-Deliveries")]).toEqual([body, reason, "1"]);
    const id = decodeURIComponent(header("Dead-Task"));
    const result = await queue.result(id, { wait: 10_000 });
    expect(result?.task.metadata).toEqual({ deadLetter: { reason, deliveries: 1 } });
    expect(runtime.tasks).toEqual([]);
    await until(async () => (await bus.manager.streams.info("AGENT_TASKS")).state.messages === 0);
  });

  it.each([400, 413, 415, 422])(
    "is given up at once when the runtime answers %i",
    async (status) => {
      const { bus, queue, runtime } = await start({ "/": (_, res) => sendJson(res, {}, status) });
      await queue.submit(user("a", { taskId: "t" }));
      expect((await queue.result("t", { wait: 10_000 }))?.task.status.state).toBe("failed");
      expect((await deadLetter(bus)).header("Dead-Reason")).toBe("refused");
      expect(runtime.tasks).toHaveLength(1);
    },
  );

  it.each<[string, (id: string) => unknown]>([
    ["text", () => "no json"],
    ["no task", () => ({ hello: 1 })],
    ["another's id", () => completed("other")],
    ["a task at work", (id) => ({ id, status: { state: "working" } })],
  ])("is not run twice when the runtime answers with %s", async (_, answer) => {
    const { bus, queue, runtime } = await start({
      "/": (asked, res) => sendJson(res, answer(idOf(asked))),
    });
    await queue.submit(user("a", { taskId: "t" }));
    await queue.result("t", { wait: 10_000 });
    expect((await deadLetter(bus)).header("Dead-Reason")).toBe("invalid_answer");
    expect(runtime.tasks).toHaveLength(1);
  });
});

it("gives up with a failed result what is too large for the queue", async () => {
  const { bus, queue } = await start({
    "/": (asked, res) => sendJson(res, completed(idOf(asked), "x".repeat(1_048_576))),
  });
  await queue.submit(user("a", { taskId: "t" }));
  const found = await queue.result("t", { wait: 10_000 });
  expect(found?.task.status.message?.parts[0]?.text).toMatch(/Its result has \d+ bytes/);
  expect((await deadLetter(bus)).header("Dead-Reason")).toBe("result_too_large");
});

it("gives up a task whose last delivery was lost with its worker, and does not run it again", async () => {
  let isHealthy = false;
  const { bus, queue, runtime } = await start(
    { "/health": (_, res) => sendJson(res, {}, isHealthy ? 200 : 503) },
    { maxDeliver: 2, ackWait: "200ms" },
  );
  await queue.submit(user("a", { taskId: "t" }));
  for (const attempt of [1, 2]) {
    const taken = await bus.connection.request(
      "$JS.API.CONSUMER.MSG.NEXT.AGENT_TASKS.coder",
      JSON.stringify({ batch: 1, expires: 5e9 }),
      { timeout: 5_000, noMux: true },
    );
    expect(taken.reply?.split(".")[4]).toBe(String(attempt));
  }
  isHealthy = true;
  const found = await queue.result("t", { wait: 10_000 });
  expect(found?.task.metadata).toEqual({ deadLetter: { reason: "lost", deliveries: 3 } });
  expect((await deadLetter(bus)).header("Dead-Reason")).toBe("lost");
  expect(runtime.tasks).toEqual([]);
});

it("T1: forwards no credential and no command to the server of whoever handed a task in", async () => {
  const { bus, runtime, queue } = await start({ "/": (_, res) => sendJson(res, {}, 400) });
  const given = headers();
  for (const name of ["Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization"])
    given.set(name, "CANARY-5f0c");
  given.set("Nats-Msg-Id", "mine");
  given.set("Dead-Reason", "forged");
  given.set("X-Kept", "kept");
  await handIn(bus, Buffer.from(JSON.stringify(user("a", { taskId: "t" }))), given);
  await queue.result("t", { wait: 10_000 });
  const { header } = await deadLetter(bus);
  const results = await bus.manager.streams.getMessage("AGENT_RESULTS", { seq: 1 });
  const seen = [runtime.asked, [...(results?.header ?? [])], results?.string()];
  expect(JSON.stringify(seen)).not.toContain("CANARY");
  expect(header("Authorization")).toBe("");
  expect([header("Dead-Reason"), header("X-Kept")]).toEqual(["refused", "kept"]);
});
