import type { Json } from "propylon";
import type { PluginEntry } from "propylon/testing";
import { describe, expect, it } from "vitest";
import a2a from "../../../plugins/a2a/index.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import { until } from "../../kit/until.ts";
import { completes, ScriptedAgents, silent } from "../lifecycle/kit.ts";
import { type Person, startTasks } from "./support.ts";

const SKILL = { id: "slow", tool: { server: "work", name: "wait", argument: "text" } };

/** A gateway whose tool is a skill of A2A as well. */
async function startAgents() {
  const runtime: PluginEntry = [a2a, { listener: "main", path: "/agent", skills: [SKILL] }];
  const started = await startTasks({}, {}, [runtime]);
  let id = 0;
  const a2aCall = async (method: string, params: Json, who: Person = "ada") => {
    const { body } = await started.rest(
      "POST",
      "/agent",
      who,
      { "content-type": "application/json", "a2a-version": "1.0" },
      JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
    );
    return body as { result?: Json; error?: Json };
  };
  const send = async (text: string) => {
    const message = { messageId: `m-${++id}`, role: "ROLE_USER", parts: [{ text }] };
    const configuration = { returnImmediately: true };
    const { result } = await a2aCall("SendMessage", { message, configuration });
    return String((result!["task"] as Json)["id"]);
  };
  return { ...started, a2aCall, sendMessage: send };
}

describe("a task of A2A", () => {
  it("is seen, answered and cancelled over MCP and HTTP, by its own principal", async () => {
    const { calls, rest, send, sendMessage, show } = await startAgents();
    const id = await sendMessage("go");
    await until(() => calls.length === 1);
    expect(await show(id)).toMatchObject({ taskId: id, status: "working" });
    expect((await send("tasks/get", { taskId: id }, "bob")).error).toMatchObject({ code: -32602 });
    const answer = calls[0]!.ask();
    await until(async () => (await show(id))["status"] === "input_required");
    const [key, request] = Object.entries((await show(id))["inputRequests"] as Json)[0]!;
    expect(request).toMatchObject({ method: "elicitation/create", params: { message: "Really?" } });
    const inputResponses = { [key]: { action: "accept", content: { sure: true } } };
    await send("tasks/update", { taskId: id, inputResponses }, "bob");
    expect(await show(id)).toMatchObject({ status: "input_required" });
    await send("tasks/update", { taskId: id, inputResponses });
    expect(await answer).toEqual({ action: "accept", content: { sure: true } });
    calls[0]!.finish();
    await until(async () => (await show(id))["status"] === "completed");
    expect(await show(id)).toMatchObject({
      result: { content: [{ type: "text", text: "ended" }] },
    });
    expect((await rest("GET", `/_jobs/${id}`)).body["job"]).toMatchObject({
      status: "done",
      answer: { result: "ended" },
    });
    const second = await sendMessage("again");
    await until(() => calls.length === 2);
    expect((await send("tasks/cancel", { taskId: second })).result).toMatchObject({
      resultType: "complete",
    });
    expect(await show(second)).toMatchObject({ status: "cancelled" });
    expect(calls[1]!.reason).toBeDefined();
  });
});

describe("tasks of MCP and jobs", () => {
  it("are read by GetTask and ended by CancelTask, by their own principal", async () => {
    const { a2aCall, begin, calls, rest, show } = await startAgents();
    const id = await begin();
    const { body } = await rest("POST", "/work/wait", "ada", {
      prefer: "respond-async",
      "content-type": "application/json",
    });
    const job = (body["job"] as { id: string }).id;
    await until(() => calls.length === 2);
    const working = { state: "TASK_STATE_WORKING" };
    expect((await a2aCall("GetTask", { id })).result).toMatchObject({ id, status: working });
    expect((await a2aCall("GetTask", { id }, "bob")).error).toMatchObject({ code: -32001 });
    expect((await a2aCall("CancelTask", { id }, "bob")).error).toMatchObject({ code: -32001 });
    const canceled = { status: { state: "TASK_STATE_CANCELED" } };
    expect((await a2aCall("CancelTask", { id: job })).result).toMatchObject(canceled);
    expect((await a2aCall("CancelTask", { id: job })).error).toMatchObject({ code: -32002 });
    calls[0]!.finish();
    await until(async () => (await show(id))["status"] === "completed");
    expect((await a2aCall("GetTask", { id })).result).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "ended" }] }],
      metadata: { kind: "mcp", server: "work", name: "wait" },
    });
    expect((await a2aCall("GetTask", { id: "nobody's" })).error).toMatchObject({ code: -32001 });
  });
});

describe("an agent of lifecycle", () => {
  it.each([
    [
      "completed",
      completes("all done"),
      { status: "completed", result: { content: [{ text: "all done" }] } },
    ],
    ["running", silent, { status: "working" }],
  ])(
    "that is %s is seen over MCP and cancelled there, by its owner",
    async (_state, script, seen) => {
      const agents = new ScriptedAgents(["worker"], script);
      const { send, show, rest } = await startTasks({ after: false }, {}, [
        agents.plugin,
        [lifecycle, {}],
      ]);
      const begun = await send("tools/call", {
        name: "agent_start",
        arguments: { contract: "work" },
      });
      const id = String((begun.result!["structuredContent"] as Json)["agent_id"]);
      await until(async () => (await show(id))["status"] === seen.status);
      expect(await show(id)).toMatchObject(seen);
      expect((await send("tasks/cancel", { taskId: id }, "bob")).error).toMatchObject({
        code: -32602,
      });
      await send("tasks/cancel", { taskId: id });
      const status = seen.status === "working" ? "cancelled" : "completed";
      expect(await show(id)).toMatchObject({ status });
      expect((await rest("GET", `/_jobs/${id}`, "bob")).status).toBe(404);
    },
  );
});
