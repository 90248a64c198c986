import type { Json } from "propylon";
import { describe, expect, it } from "vitest";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";
import { KNOWS, startTasks } from "./support.ts";
import { TaskServer, type Told } from "./task-server.ts";

const DONE = { status: "completed", result: { content: [{ type: "text", text: "done" }] } };

/** A gateway in front of a server with tasks. */
async function start(server = new TaskServer(), options: Json = {}, more: Json = {}) {
  const url = await server.start();
  const gateway = await startTasks(
    { after: "1h", ...options },
    { servers: { far: { url } }, ...more },
  );
  await until(async () => {
    const { result } = await gateway.send("tools/list", {});
    return (result!["tools"] as Json[]).some(({ name }) => name === "long");
  });
  const long = (capabilities?: Json) => gateway.call("", "ada", capabilities, "long");
  return { server, ...gateway, long };
}

const ended = (show: (id: string) => Promise<Json>, id: string) =>
  until(async () => {
    const task = await show(id);
    return task["status"] !== "working" && task;
  });

describe("a server that answers with a task", () => {
  it("is waited for on behalf of a client that does not know tasks", async () => {
    const { server, long } = await start();
    const waiting = long({});
    await until(() => server.of("tasks/get").length > 1);
    server.tell("task-1", DONE);
    expect((await waiting).result).toMatchObject({
      resultType: "complete",
      content: [{ text: "done" }],
    });
    const [{ headers, params }] = server.of("tasks/get") as [(typeof server.asked)[0]];
    expect(headers["mcp-name"]).toBe("task-1");
    expect(params["_meta"]).toMatchObject({
      "io.modelcontextprotocol/clientCapabilities": {
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
    });
  });

  it("is a task of the gateway for a client that knows them, at once, and its own id is not told", async () => {
    const { server, long, show, send } = await start();
    const begun = await long();
    expect(begun.result).toMatchObject({ resultType: "task", status: "working" });
    expect(begun.text).not.toContain("task-1");
    const id = String(begun.result!["taskId"]);
    server.tell("task-1", { statusMessage: "half of it" });
    await until(async () => (await show(id))["statusMessage"] === "half of it");
    expect((await send("tasks/get", { taskId: id }, "bob")).error).toMatchObject({ code: -32602 });
    server.tell("task-1", DONE);
    expect(await ended(show, id)).toMatchObject({ status: "completed", result: DONE.result });
  });

  it("asks through that task, each key once, and gets the answers", async () => {
    const { server, long, show, send } = await start();
    const id = String((await long()).result!["taskId"]);
    const inputRequests = {
      name: { method: "elicitation/create", params: { message: "Who?", requestedSchema: {} } },
    };
    server.tell("task-1", { status: "input_required", inputRequests });
    const { inputRequests: asked } = await until(async () => {
      const task = await show(id);
      return task["status"] === "input_required" && task;
    });
    expect(asked).toEqual({ "input-1": inputRequests.name });
    await until(() => server.of("tasks/get").length > 4);
    expect(Object.keys((await show(id))["inputRequests"] as Json)).toEqual(["input-1"]);
    const answer = { action: "accept", content: { name: "Ada" } };
    await send("tasks/update", { taskId: id, inputResponses: { "input-1": answer } });
    await until(() => server.of("tasks/update").length === 1);
    expect(server.of("tasks/update")[0]!.params).toMatchObject({
      taskId: "task-1",
      inputResponses: { name: answer },
    });
    server.tell("task-1", DONE);
    expect(await ended(show, id)).toMatchObject({ status: "completed" });
  });

  it("cancels it when the client does, and when a plain caller has gone", async () => {
    const { server, long, send, show, url } = await start();
    const id = String((await long()).result!["taskId"]);
    await send("tasks/cancel", { taskId: id });
    await until(() => server.of("tasks/cancel").length === 1);
    expect(server.of("tasks/cancel")[0]!.params).toMatchObject({ taskId: "task-1" });
    expect(await show(id)).toMatchObject({ status: "cancelled" });
    expect(url).toBeDefined();
    const looks = server.of("tasks/get").length;
    const plain = long({});
    await until(() => server.of("tasks/get").length > looks);
    server.tell("task-2", DONE);
    await plain;
    expect(server.of("tasks/cancel")).toHaveLength(1);
  });

  it("is cancelled at the end of the call's time", async () => {
    const { server, long } = await start(new TaskServer(), {}, { timeouts: { default: "600ms" } });
    expect((await long({})).error).toMatchObject({ data: { code: "timeout" } });
    await until(() => server.of("tasks/cancel").length === 1);
  });

  it("is waited for through a server that is away for a moment", async () => {
    const { server, long } = await start();
    server.failures = 2;
    const waiting = long({});
    await until(() => server.failures < 0);
    server.tell("task-1", DONE);
    expect((await waiting).result).toMatchObject({ content: [{ text: "done" }] });
  });

  it("keeps numbers that JavaScript cannot hold", async () => {
    const { server, long } = await start();
    const waiting = long({});
    await until(() => server.of("tasks/get").length > 0);
    const told = `{"jsonrpc":"2.0","id":"$id","result":{"resultType":"complete","taskId":"task-1","status":"completed","result":{"content":[],"structuredContent":{"big":9007199254740993}}}}`;
    server.tell("task-1", told);
    expect((await waiting).text).toContain('"big":9007199254740993');
  });
});

describe("a hostile server's task", () => {
  const broken: readonly [string, Told, string][] = [
    ["an unknown state", { status: "sleeping" }, "a state that does not exist"],
    ["no result", { status: "completed" }, "without a result"],
    [
      "a result that is a task again",
      { status: "completed", result: { resultType: "task" } },
      "another task or a question",
    ],
    ["no error", { status: "failed" }, "without an error"],
    ["another id", { status: "working", taskId: "task-9" }, "another task"],
    ["questions that are none", { status: "input_required", inputRequests: [1] }, "not MCP"],
    [
      "a question of no kind",
      { status: "input_required", inputRequests: { a: { method: "tools/call" } } },
      "not MCP",
    ],
    ["a cancellation of its own", { status: "cancelled" }, "cancelled its task"],
  ];
  it.each(broken)("with %s ends the call, and says so", async (_what, told, words) => {
    const { server, long } = await start();
    const waiting = long({});
    await until(() => server.of("tasks/get").length > 0);
    server.tell("task-1", told);
    const { error } = await waiting;
    expect(error).toMatchObject({ data: { code: "upstream_error" } });
    expect(String(error!["message"])).toContain(words);
  });

  it("with an id that is none is no task", async () => {
    const server = new TaskServer();
    const { long } = await start(server);
    for (const taskId of ["", 7, "x".repeat(2_000)]) {
      server.seed = { taskId };
      expect((await long({})).error).toMatchObject({ data: { code: "upstream_error" } });
    }
  });

  it("that nobody asked for is refused, from a server that declares none", async () => {
    const server = new TaskServer();
    server.declares = false;
    const { long } = await start(server);
    for (const capabilities of [{}, KNOWS]) {
      const { error } = await long(capabilities);
      expect(error).toMatchObject({ data: { code: "upstream_error" } });
    }
    expect(JSON.stringify(server.of("tools/call"))).not.toContain("modelcontextprotocol/tasks");
  });

  it("that asks to be looked at all the time is not, and one that is forgotten has failed", async () => {
    const { server, long } = await start();
    const waiting = long({});
    await until(() => server.of("tasks/get").length > 0);
    const [from, before] = [performance.now(), server.of("tasks/get").length];
    await until(() => server.of("tasks/get").length >= before + 4);
    expect(performance.now() - from).toBeGreaterThan(700);
    server.tasks.clear();
    expect(String((await waiting).error!["message"])).toContain("does not know its task");
  });

  it("with a result of 50 MB reaches a plain caller, and fails a task with a reason", async () => {
    const { server, long, show } = await start();
    const text = "x".repeat(50 * 1024 * 1024);
    const large = { status: "completed", result: { content: [{ type: "text", text }] } };
    const id = String((await long()).result!["taskId"]);
    server.tell("task-1", large);
    expect(await ended(show, id)).toMatchObject({
      status: "failed",
      error: { data: { code: "too_large" } },
    });
    const waiting = long({});
    await until(() => server.of("tools/call").length === 2);
    server.tell("task-2", large);
    expect((await waiting).text.length).toBeGreaterThan(text.length);
  });

  it("whose client cannot be asked fails, and is cancelled", async () => {
    const { server, long } = await start();
    const waiting = long({});
    await until(() => server.of("tasks/get").length > 0);
    const inputRequests = { a: { method: "sampling/createMessage", params: {} } };
    server.tell("task-1", { status: "input_required", inputRequests });
    expect((await waiting).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { sampling: {} } },
    });
    await until(() => server.of("tasks/cancel").length === 1);
  });
});

describe("a restart of the gateway", () => {
  it("goes on with the task, under its id, and asks under keys that are new", async () => {
    const kept = new KeptStore();
    const server = new TaskServer();
    const url = await server.start();
    const config = { store: "kept", servers: { far: { url } } };
    const first = await startTasks({ after: "1h" }, config, [kept.plugin]);
    await until(async () =>
      JSON.stringify((await first.send("tools/list", {})).result).includes("long"),
    );
    const id = String((await first.call("", "ada", KNOWS, "long")).result!["taskId"]);
    await first.gateway.close();
    expect(server.of("tasks/cancel")).toEqual([]);
    const second = await startTasks({ after: "1h" }, config, [kept.plugin]);
    expect(await second.show(id)).toMatchObject({ status: "working" });
    const question = { method: "elicitation/create", params: { message: "Who?" } };
    server.tell("task-1", { status: "input_required", inputRequests: { name: question } });
    const { inputRequests } = await until(async () => {
      const task = await second.show(id);
      return task["status"] === "input_required" && task;
    });
    const [key] = Object.keys(inputRequests as Json);
    expect(key).not.toBe("input-1");
    const answer = { action: "decline" };
    await second.send("tasks/update", { taskId: id, inputResponses: { [key!]: answer } });
    await until(() => server.of("tasks/update").length === 1);
    server.tell("task-1", DONE);
    expect(await ended(second.show, id)).toMatchObject({
      status: "completed",
      result: DONE.result,
    });
    expect(server.of("tools/call")).toHaveLength(1);
  });

  it("ends the task with a reason when its server is gone, and cancels it where it is told to", async () => {
    const kept = new KeptStore();
    const server = new TaskServer();
    const url = await server.start();
    const config = { store: "kept", servers: { far: { url } } };
    const first = await startTasks({ after: "1h" }, config, [kept.plugin]);
    await until(async () =>
      JSON.stringify((await first.send("tools/list", {})).result).includes("long"),
    );
    const begin = async () =>
      String((await first.call("", "ada", KNOWS, "long")).result!["taskId"]);
    const [one, two] = [await begin(), await begin()];
    await first.gateway.close();
    const second = await startTasks({ after: "1h" }, config, [kept.plugin]);
    await second.send("tasks/cancel", { taskId: one });
    await until(() => server.of("tasks/cancel").length === 1);
    expect(server.of("tasks/cancel")[0]!.params).toMatchObject({ taskId: "task-1" });
    await second.gateway.close();
    const third = await startTasks({ after: "1h" }, { store: "kept" }, [kept.plugin]);
    expect(await ended(third.show, two)).toMatchObject({
      status: "failed",
      error: { data: { code: "unavailable" } },
    });
    expect(await third.show(one)).toMatchObject({ status: "cancelled" });
  });
});

describe("a tool of a server of 2025-11-25 that can only be a task", () => {
  const everything = {
    servers: {
      old: {
        command: process.execPath,
        args: ["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"],
      },
    },
  };
  const name = "simulate-research-query";

  async function startOld(options: Json = {}) {
    const gateway = await startTasks({ after: "1h", ...options }, everything);
    const tool = await until(async () => {
      const { result } = await gateway.send("tools/list", {});
      return (result!["tools"] as Json[]).find((each) => each["name"] === name);
    }, 30_000);
    return { ...gateway, tool };
  }

  it("is called by those who know no tasks, and by those who do", async () => {
    const { send, show, tool } = await startOld();
    expect(tool["execution"]).toEqual({});
    const args = { name, arguments: { topic: "tea" } };
    const [plain, begun] = await Promise.all([
      send("tools/call", args, "ada", {}),
      send("tools/call", args, "ada"),
    ]);
    expect(JSON.stringify(plain.result)).toContain("tea");
    expect(plain.text).not.toContain("related-task");
    expect(begun.result).toMatchObject({ resultType: "task" });
    const last = await ended(show, String(begun.result!["taskId"]));
    expect(last).toMatchObject({ status: "completed" });
    expect(JSON.stringify(last)).toContain("Research Report");
  });

  it("asks its question through the task", async () => {
    const { send, show } = await startOld();
    const args = { name, arguments: { topic: "python", ambiguous: true } };
    const id = String((await send("tools/call", args)).result!["taskId"]);
    const asked = await until(async () => {
      const task = await show(id);
      return task["status"] === "input_required" && (task["inputRequests"] as Json);
    }, 30_000);
    const [key] = Object.keys(asked);
    const answer = { action: "accept", content: { interpretation: "programming" } };
    await send("tasks/update", { taskId: id, inputResponses: { [key!]: answer } });
    expect(await ended(show, id)).toMatchObject({ status: "completed" });
  });
});
