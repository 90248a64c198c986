import { Answer, GatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";
import { startTasks } from "./support.ts";

const UNKNOWN = { code: -32602, message: "Unknown task" };

describe("a call of a client that knows tasks", () => {
  it("is a task at once where that is wanted, and is read with its end", async () => {
    const { call, calls, show } = await startTasks();
    const { result } = await call();
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    for (const key of ["ttlMs", "pollIntervalMs"])
      expect(Number.isInteger(result![key])).toBe(true);
    for (const key of ["task", "result", "error", "requestState", "inputRequests"])
      expect(result).not.toHaveProperty(key);
    const id = String(result!["taskId"]);
    await until(() => calls.length === 1);
    calls[0]!.report("half of it");
    await until(async () => (await show(id))["statusMessage"] === "half of it");
    expect(await show(id)).toMatchObject({ resultType: "complete", status: "working" });
    calls[0]!.finish();
    await until(async () => (await show(id))["status"] === "completed");
    const ended = await show(id);
    expect(ended).toMatchObject({ taskId: id, result: { content: [{ text: "ended" }] } });
    expect(ended).not.toHaveProperty("statusMessage");
  });

  it("is answered as ever when it is done in time, and becomes a task when it is not", async () => {
    const { call, calls, show } = await startTasks({ after: "50ms" });
    const quick = await call("", "ada", undefined, "now");
    expect(quick.result).toMatchObject({ resultType: "complete", content: [{ text: "done" }] });
    const slow = await call();
    expect(slow.result).toMatchObject({ resultType: "task" });
    calls[0]!.finish();
    await until(async () => (await show(String(slow.result!["taskId"])))["status"] === "completed");
  });

  it("is never a task for others, for whom tools that must be one do not exist", async () => {
    const { call, calls, send } = await startTasks({ tools: { "work.now": { required: true } } });
    const waiting = call("", "ada", {});
    await until(() => calls.length === 1);
    calls[0]!.finish();
    expect((await waiting).result).toMatchObject({ resultType: "complete" });
    const required = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const refusal = { code: -32021, data: { requiredCapabilities: required } };
    const refused = await call("", "ada", {}, "now");
    expect(refused).toMatchObject({ status: 400, error: refusal });
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
      expect(await send(method, { taskId: "x", inputResponses: {} }, "ada", {})).toMatchObject({
        status: 400,
        error: refusal,
      });
  });

  it("is off by tool and by plugin", async () => {
    const { call, calls } = await startTasks({ tools: { "work.*": { after: false } } });
    const waiting = call();
    await until(() => calls.length === 1);
    calls[0]!.finish();
    expect((await waiting).result).toMatchObject({ resultType: "complete" });
  });

  it("keeps failures apart: a tool's own, a JSON-RPC error, the gateway's", async () => {
    const { begin, calls, show } = await startTasks();
    const ids = [await begin(), await begin(), await begin(), await begin()];
    await until(() => calls.length === 4);
    calls[0]!.finish(Answer.failed("the disk is full"));
    calls[1]!.finish(Answer.error({ code: -32603, message: "broken" }));
    calls[2]!.finish(new GatewayError("upstream_error", "gone"));
    calls[3]!.finish(new GatewayError("invalid", "wrong"));
    const ended = async (id: string) => {
      await until(async () => (await show(id))["status"] !== "working");
      return show(id);
    };
    expect(await ended(ids[0]!)).toMatchObject({ status: "completed", result: { isError: true } });
    const failed = await ended(ids[1]!);
    expect(failed).toMatchObject({ status: "failed", error: { code: -32603, message: "broken" } });
    expect(failed).not.toHaveProperty("result");
    expect(await ended(ids[2]!)).toMatchObject({
      status: "failed",
      error: { message: "gone", data: { code: "upstream_error" } },
    });
    expect(await ended(ids[3]!)).toMatchObject({ status: "completed", result: { isError: true } });
  });

  it("keeps numbers that JavaScript cannot hold", async () => {
    const { begin, calls, send } = await startTasks();
    const id = await begin();
    await until(() => calls.length === 1);
    const bytes = Buffer.from(
      '{"jsonrpc":"2.0","id":7,"result":{"content":[],"n":9007199254740993}}',
    );
    calls[0]!.finish(Answer.raw({ chunks: [bytes], idStart: 22, idEnd: 23 }));
    await until(async () => (await send("tasks/get", { taskId: id })).text.includes("completed"));
    expect((await send("tasks/get", { taskId: id })).text).toContain('"n":9007199254740993');
  });

  it("goes on when its client has gone, and ends when it is cancelled, once or twice", async () => {
    const { begin, calls, send, show } = await startTasks();
    const id = await begin();
    await until(() => calls.length === 1);
    expect(calls[0]!.reason).toBeUndefined();
    const ack = { resultType: "complete" };
    for (let round = 0; round < 2; round++) {
      const { result } = await send("tasks/cancel", { taskId: id });
      expect(result).toMatchObject(ack);
      expect(result).not.toHaveProperty("taskId");
      expect(await show(id)).toMatchObject({ status: "cancelled" });
    }
    expect(calls[0]!.reason).toMatchObject({ code: "cancelled" });
    expect((await send("tasks/update", { taskId: id, inputResponses: {} })).result).toMatchObject(
      ack,
    );
    expect(await show(id)).not.toHaveProperty("error");
  });

  it("asks through the task, under keys that are used once, and takes answers one by one", async () => {
    const { begin, calls, send, show } = await startTasks();
    const id = await begin();
    await until(() => calls.length === 1);
    const answers = [calls[0]!.ask(), calls[0]!.ask()];
    await until(async () => (await show(id))["status"] === "input_required");
    const keys = Object.keys((await show(id))["inputRequests"] as object);
    expect(keys).toEqual(["input-1", "input-2"]);
    const answer = (key: string, value: string) =>
      send("tasks/update", { taskId: id, inputResponses: { [key]: { action: value }, other: {} } });
    await answer("input-1", "accept");
    expect(await answers[0]).toEqual({ action: "accept" });
    expect(Object.keys((await show(id))["inputRequests"] as object)).toEqual(["input-2"]);
    await answer("input-1", "again");
    await answer("input-2", "decline");
    expect(await answers[1]).toEqual({ action: "decline" });
    expect(await show(id)).toMatchObject({ status: "working" });
    const third = calls[0]!.ask().catch((error: unknown) => error);
    await until(async () => (await show(id))["status"] === "input_required");
    expect(Object.keys((await show(id))["inputRequests"] as object)).toEqual(["input-3"]);
    const wrong = await send("tasks/update", { taskId: id, inputResponses: { "input-3": "yes" } });
    expect(wrong.error).toMatchObject({ code: -32602 });
    await send("tasks/cancel", { taskId: id });
    expect(await third).toMatchObject({ code: "cancelled" });
  });

  it("refuses a question that its client cannot be asked", async () => {
    const { begin, calls, show } = await startTasks();
    const id = await begin();
    await until(() => calls.length === 1);
    const refusal = await calls[0]!.ask("sampling/createMessage").catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "invalid" });
    calls[0]!.finish(refusal as Error);
    await until(async () => (await show(id))["status"] === "failed");
    expect(await show(id)).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } },
    });
  });
});

describe("somebody else's task", () => {
  it("looks unknown, to read, answer and cancel, over MCP and HTTP", async () => {
    const { begin, calls, rest, send, show } = await startTasks();
    const id = await begin();
    await until(() => calls.length === 1);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
      expect((await send(method, { taskId: id, inputResponses: {} }, "bob")).error).toMatchObject(
        UNKNOWN,
      );
    for (const method of ["GET", "DELETE"])
      expect(await rest(method, `/_jobs/${id}`, "bob")).toMatchObject({ status: 404 });
    expect(await show(id)).toMatchObject({ status: "working" });
    const odd = ["", "x".repeat(5_000), "__proto__", "../../etc", id.toUpperCase()];
    for (const taskId of odd)
      expect((await send("tasks/get", { taskId })).error).toMatchObject(UNKNOWN);
    expect((await send("tasks/get", { taskId: 7 })).error).toMatchObject({ code: -32602 });
  });
});

describe("what runs through one face", () => {
  it("is seen and cancelled through another: jobs by tasks/get, tasks by /_jobs", async () => {
    const { begin, calls, rest, send, show } = await startTasks();
    const body = { prefer: "respond-async", "content-type": "application/json" };
    const started = await rest("POST", "/work/wait", "ada", body);
    const job = (started.body["job"] as { id: string }).id;
    const task = await begin();
    await until(() => calls.length === 2);
    expect(await show(job)).toMatchObject({ taskId: job, status: "working" });
    expect((await rest("GET", `/_jobs/${task}`)).body["job"]).toMatchObject({
      server: "work",
      tool: "wait",
      status: "running",
    });
    await send("tasks/cancel", { taskId: job });
    expect((await rest("GET", `/_jobs/${job}`)).body["job"]).toMatchObject({ status: "cancelled" });
    expect((await rest("DELETE", `/_jobs/${task}`)).body["job"]).toMatchObject({
      status: "cancelled",
    });
    expect(await show(task)).toMatchObject({ status: "cancelled" });
    expect(calls.map(({ reason }) => reason)).toEqual(Array(2).fill(expect.any(GatewayError)));
  });

  it("is shown with its result, in the form of each face", async () => {
    const { begin, calls, rest, show } = await startTasks();
    const body = { prefer: "respond-async", "content-type": "application/json" };
    const started = await rest("POST", "/work/wait", "ada", { ...body, "x-result-format": "raw" });
    const job = (started.body["job"] as { id: string }).id;
    const task = await begin();
    await until(() => calls.length === 2);
    for (const each of calls) each.finish();
    await until(async () => (await show(job))["status"] === "completed");
    await until(async () => (await show(task))["status"] === "completed");
    expect((await show(job))["result"]).toEqual((await show(task))["result"]);
    const [own, other] = [await rest("GET", `/_jobs/${job}`), await rest("GET", `/_jobs/${task}`)];
    expect(own.body["job"]).toMatchObject({ status: "done", answer: "ended" });
    expect(other.body["job"]).toMatchObject({
      status: "done",
      answer: { ok: true, result: "ended" },
    });
  });
});

describe("bounds", () => {
  it("beyond them calls are answered as without tasks, for each principal and in all", async () => {
    const { begin, call, calls, counts, gateway } = await startTasks({
      maxRunning: 3,
      maxRunningEach: 2,
    });
    await begin();
    await begin();
    const third = call();
    await until(() => calls.length === 3);
    expect(await begin("", "bob")).not.toBe("undefined");
    const fifth = call("", "bob");
    await until(() => calls.length === 5);
    expect(counts()).toMatchObject({ running: 3, kept: 3 });
    expect([...counts().refused]).toEqual([
      ["maxRunningEach", 1],
      ["maxRunning", 1],
    ]);
    for (const each of calls) each.finish();
    expect((await third).result).toMatchObject({ resultType: "complete" });
    expect((await fifth).result).toMatchObject({ resultType: "complete" });
    expect((await call()).result).toMatchObject({ resultType: "task" });
    await gateway.close({ grace: 0 });
  });

  it("1,000 tasks end and stay for their time, none goes before it, and then all go", async () => {
    const options = { ttl: "3s", maxTasks: 1_000, maxRunningEach: 1_000 };
    const { begin, call, calls, show } = await startTasks(options);
    const ids = await Promise.all(Array.from({ length: 1_000 }, (_, at) => begin(String(at))));
    expect(new Set(ids).size).toBe(1_000);
    await until(() => calls.length === 1_000);
    for (const each of calls) each.finish();
    const more = call();
    await until(() => calls.length === 1_001);
    calls[1_000]!.finish();
    expect((await more).result).toMatchObject({ resultType: "complete" });
    expect(await show(ids[0]!)).toMatchObject({ status: "completed" });
    expect(await show(ids[999]!)).toMatchObject({ status: "completed" });
    await until(async () => (await show(ids[999]!)) === undefined);
    expect((await call()).result).toMatchObject({ resultType: "task" });
  });

  it("a result beyond its size fails the task, and says so", async () => {
    const { begin, calls, show } = await startTasks({ maxTaskSize: "1KiB" });
    const id = await begin();
    await until(() => calls.length === 1);
    calls[0]!.finish(Answer.result({ content: [{ type: "text", text: "x".repeat(2_000) }] }));
    await until(async () => (await show(id))["status"] === "failed");
    expect(await show(id)).toMatchObject({ error: { data: { code: "too_large" } } });
  });
});

describe("a store that outlives the process", () => {
  it("has ended tasks after a restart; those that ran have failed, and nothing is called again", async () => {
    const kept = new KeptStore();
    const first = await startTasks({}, { store: "kept" }, [kept.plugin]);
    const [done, running] = [await first.begin(), await first.begin()];
    await until(() => first.calls.length === 2);
    first.calls[0]!.finish();
    await until(async () => (await first.show(done))["status"] === "completed");
    const before = await first.show(done);
    const second = await startTasks({}, { store: "kept" }, [kept.plugin]);
    const { ttlMs: _ttl, ...after } = await second.show(done);
    expect(before).toMatchObject(after);
    expect(await second.show(running)).toMatchObject({
      status: "failed",
      error: { data: { code: "unavailable" } },
    });
    expect((await second.send("tasks/get", { taskId: done }, "bob")).error).toMatchObject(UNKNOWN);
    expect(second.calls).toEqual([]);
  });

  it("while it is away no call becomes a task, and ends wait for it", async () => {
    const kept = new KeptStore();
    const { begin, call, calls, send, show } = await startTasks({}, { store: "kept" }, [
      kept.plugin,
    ]);
    const id = await begin();
    await until(() => calls.length === 1);
    kept.isAway = true;
    const plain = call();
    await until(() => calls.length === 2);
    calls[1]!.finish();
    expect((await plain).result).toMatchObject({ resultType: "complete" });
    expect((await send("tasks/cancel", { taskId: id })).error).toMatchObject({
      data: { code: "unavailable" },
    });
    calls[0]!.finish();
    expect(await show(id)).toMatchObject({ status: "working" });
    kept.isAway = false;
    await until(async () => (await show(id))["status"] === "completed");
  });

  it("of several gateways shows, answers and cancels tasks everywhere, for their owner", async () => {
    const kept = new KeptStore({ shared: true });
    const first = await startTasks({}, { store: "kept" }, [kept.plugin]);
    const second = await startTasks({}, { store: "kept" }, [kept.plugin]);
    const id = await first.begin();
    await until(() => first.calls.length === 1);
    expect(await second.show(id)).toMatchObject({ status: "working" });
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const others = await second.send(method, { taskId: id, inputResponses: {} }, "bob");
      expect(others.error).toMatchObject(UNKNOWN);
    }
    first.calls[0]!.report("half of it");
    await until(async () => (await second.show(id))["statusMessage"] === "half of it");
    const answer = first.calls[0]!.ask();
    await until(async () => (await second.show(id))["status"] === "input_required");
    const inputResponses = { "input-1": { action: "accept" } };
    await second.send("tasks/update", { taskId: id, inputResponses });
    expect(await answer).toEqual({ action: "accept" });
    expect((await second.send("tasks/cancel", { taskId: id })).result).toBeDefined();
    expect(await first.show(id)).toMatchObject({ status: "cancelled" });
    expect(first.calls[0]!.reason).toMatchObject({ code: "cancelled" });
    expect(await second.show(id)).toMatchObject({ status: "cancelled" });
  });

  it("shows the end that another replica wrote when this one was taken for lost", async () => {
    const kept = new KeptStore({ shared: true });
    const first = await startTasks({}, { store: "kept" }, [kept.plugin]);
    const second = await startTasks({}, { store: "kept" }, [kept.plugin]);
    const id = await first.begin();
    await until(() => first.calls.length === 1);
    // As for the others when it was stopped for longer than its lease.
    await kept.loseGateway();
    const lost = { status: "failed", error: { data: { code: "unavailable" } } };
    expect(await second.show(id)).toMatchObject(lost);
    first.calls[0]!.finish();
    await until(async () => (await first.show(id))["status"] !== "working");
    expect(await first.show(id)).toMatchObject(lost);
  });
});
