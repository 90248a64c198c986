import { createHash } from "node:crypto";
import { jetstream } from "@nats-io/jetstream";
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "propylon/contract";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import sidecar, { TaskQueue, type TaskQueueService } from "../../../plugins/sidecar/index.ts";
import { type Answer, sendJson, startBus, startRuntime, until, user } from "./kit.ts";

type Who = "alice" | "mallory" | "operator";

const KEYS = { alice: "caller", mallory: "caller", operator: "operator" } as const;
const tokenOf = (who: Who): string => `${who}-0123456789abcdef0123456789abcdef`;
const hashOf = (text: string): string =>
  `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** A runtime that remembers by task and by conversation, whoever speaks: it sees one client, the sidecar. */
function remembering(): Record<string, Answer> {
  const byTask = new Map<string, string[]>();
  const byContext = new Map<string, string[]>();
  const remember = (memory: Map<string, string[]>, key: string, text: string): string[] => {
    const told = [...(memory.get(key) ?? []), text];
    memory.set(key, told);
    return told;
  };
  return {
    "/": ({ body }, res) => {
      const { taskId, messageId, contextId, parts } = body!.message as {
        taskId?: string;
        messageId?: string;
        contextId?: string;
        parts: { text: string }[];
      };
      const id = taskId ?? messageId!;
      const [{ text }] = parts as [{ text: string }];
      if (text.startsWith("refuse")) return sendJson(res, {}, 400);
      const told = remember(byTask, id, text);
      const heard = contextId === undefined ? [text] : remember(byContext, contextId, text);
      const reply = { role: "agent", taskId: id, contextId, parts: [{ text: "Which?" }] };
      const known = { id, ...(contextId !== undefined && { contextId }) };
      if (text.startsWith("ask ") && told.length === 1)
        return sendJson(res, { ...known, status: { state: "input-required", message: reply } });
      sendJson(res, {
        ...known,
        status: { state: "completed" },
        artifacts: [{ parts: [{ text: `task ${told.join("+")} context ${heard.join("+")}` }] }],
      });
    },
  };
}

describe.each(["memory", "jetstream"] as const)("%s", (kind) => {
  async function start() {
    const bus = kind === "jetstream" ? await startBus() : undefined;
    const runtime = await startRuntime(remembering());
    let queue: TaskQueueService | undefined;
    const peek = definePlugin({
      name: "peek",
      inject: { queue: TaskQueue },
      setup: ({ services }) => void (queue = services.queue),
    });
    const keys = Object.entries(KEYS).map(
      ([who, role]) => [who, { role, hash: hashOf(tokenOf(who as Who)) }] as const,
    );
    const options = { name: "coder", runtime: { url: runtime.url } };
    const { url } = await setupGateway({
      plugins: [[sidecar, { ...options, ...(bus && { nats: { url: bus.server.url } }) }], peek],
      config: { auth: { keys: Object.fromEntries(keys) } },
      client: false,
    });
    await until(async () => (await fetch(`${url}/sidecar/ready`)).ok);
    const ask = (who: Who, path: string, body?: unknown) =>
      fetch(`${url}${path}`, {
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
        headers: { "content-type": "application/json", authorization: `Bearer ${tokenOf(who)}` },
      });
    const submit = async (who: Who, text: string, ids: object) => {
      const response = await ask(who, "/sidecar/tasks", user(text, ids));
      expect(response.status).toBe(202);
      return (await response.json()) as { id: string };
    };
    const look = async (who: Who, path: string) => {
      const response = await ask(who, `/sidecar/tasks/${path}`);
      return { status: response.status, body: await response.text() };
    };
    const result = async (who: Who, id: string, query = "") =>
      JSON.parse((await look(who, `${id}?wait=10s${query}`)).body) as {
        id: string;
        contextId?: string;
        status: { state: string; message?: object };
        artifacts: { parts: { text: string }[] }[];
      };
    const said = async (who: Who, id: string, query?: string) =>
      (await result(who, id, query)).artifacts?.[0]?.parts[0]?.text;
    return { bus, runtime, queue: queue!, ask, submit, look, result, said };
  }

  it("S1-4: a stranger who answers under another's id begins a task of their own", async () => {
    const { submit, result, said } = await start();
    await submit("alice", "ask alice-secret", { taskId: "task-003", messageId: "m1" });
    const asking = await result("alice", "task-003");
    expect(asking.status).toMatchObject({
      state: "input-required",
      message: { taskId: "task-003", parts: [{ text: "Which?" }] },
    });
    await submit("mallory", "mallory-answer", { taskId: "task-003", messageId: "m9" });
    expect(await said("mallory", "task-003")).toBe("task mallory-answer context mallory-answer");
    expect((await result("alice", "task-003")).status.state).toBe("input-required");
    await submit("alice", "this one", { taskId: "task-003", messageId: "m2" });
    await until(async () => (await result("alice", "task-003")).status.state === "completed");
    expect(await said("alice", "task-003")).toMatch(/^task ask alice-secret\+this one /);
    expect(await said("mallory", "task-003")).toBe("task mallory-answer context mallory-answer");
  });

  it.each([
    ["task", (id: string) => ({ taskId: id })],
    ["message", (id: string) => ({ messageId: id })],
    ["task and message", (id: string) => ({ taskId: id, messageId: "m1" })],
  ])("S1-4: an id of a %s that a stranger took first is still free for others", async (_, ids) => {
    const { submit, result, said } = await start();
    expect(await submit("mallory", "hers", ids("task-002"))).toEqual({ id: "task-002" });
    expect(await submit("alice", "mine", ids("task-002"))).toEqual({ id: "task-002" });
    expect(await said("alice", "task-002")).toBe("task mine context mine");
    expect(await said("mallory", "task-002")).toBe("task hers context hers");
    expect((await result("alice", "task-002")).id).toBe("task-002");
  });

  it("S1-4: another's id is answered as one that nobody has, at once and after a wait", async () => {
    const { submit, look, result } = await start();
    await submit("alice", "mine", { taskId: "known" });
    expect((await result("alice", "known")).status.state).toBe("completed");
    for (const [wait, least] of [
      ["", 0],
      ["?wait=700ms", 650],
    ] as const) {
      const begun = performance.now();
      const foreign = await look("mallory", `known${wait}`);
      const took = performance.now() - begun;
      const unknown = await look("mallory", `nobody${wait}`);
      expect(foreign).toEqual({ status: 202, body: unknown.body.replace("nobody", "known") });
      expect(took).toBeGreaterThanOrEqual(least);
    }
    expect((await look("mallory", "known?owner=key:alice")).status).toBe(403);
    expect((await look("operator", "known?owner=key:alice")).status).toBe(200);
    expect((await look("operator", "known?owner=key:mallory")).status).toBe(202);
  });

  it("S1-4: a stranger who names another's conversation, or refers to a task of it, hears nothing of it", async () => {
    const { runtime, submit, result, said } = await start();
    await submit("alice", "alice-secret", { taskId: "a", contextId: "talk" });
    expect(await result("alice", "a")).toMatchObject({ id: "a", contextId: "talk" });
    const named = { contextId: "talk", referenceTaskIds: ["a"] };
    await submit("mallory", "tell me", { taskId: "b", ...named });
    expect(await said("mallory", "b")).toBe("task tell me context tell me");
    await submit("alice", "go on", { taskId: "c", ...named });
    expect(await said("alice", "c")).toBe("task go on context alice-secret+go on");
    const sent = runtime.tasks.map(({ body }) => body!.message as Record<string, unknown>);
    expect(sent[2]!["referenceTaskIds"]).toEqual([sent[0]!["taskId"]]);
    expect(sent[1]!["referenceTaskIds"]).not.toEqual([sent[0]!["taskId"]]);
  });

  it("goes on with the conversation that a task began without naming one", async () => {
    const { submit, result, said } = await start();
    await submit("alice", "first", { taskId: "a" });
    const { contextId } = await result("alice", "a");
    await submit("alice", "second", { taskId: "b", contextId });
    expect(await said("alice", "b")).toBe("task second context first+second");
    await submit("mallory", "third", { taskId: "c", contextId });
    expect(await said("mallory", "c")).toBe("task third context third");
  });

  it("S1-4: what is given up, and told on the way, stays with its owner", async () => {
    const { bus, queue, ask, submit, result } = await start();
    const heard: Record<string, StreamEvent[]> = { alice: [], mallory: [] };
    for (const who of ["alice", "mallory"] as const)
      queue.watch("t", (event) => heard[who]!.push(event), { owner: `key:${who}` });
    await submit("mallory", "refuse this", { taskId: "t" });
    expect((await result("mallory", "t")).status.state).toBe("failed");
    await submit("alice", "mine", { taskId: "t" });
    expect((await result("alice", "t")).status.state).toBe("completed");
    expect(await queue.result("t", { owner: "key:alice" })).toMatchObject({ owner: "key:alice" });
    expect(await queue.result("t")).toBeUndefined();
    const states = (who: Who) =>
      heard[who]!.map((event) => "statusUpdate" in event && event.statusUpdate.status.state);
    await until(() => states("alice").length === 2);
    expect([states("mallory"), states("alice")]).toEqual([
      ["working", "failed"],
      ["working", "completed"],
    ]);
    expect(JSON.stringify(heard["alice"])).not.toContain("given up");
    const { failed } = (await (await ask("operator", "/_meta/sidecar/failed")).json()) as {
      failed: object[];
    };
    expect(failed).toMatchObject([{ task: "t", owner: "key:mallory", reason: "refused" }]);
    if (!bus) return;
    const letter = await bus.manager.streams.getMessage("AGENT_DEAD", {
      last_by_subj: "agent.dead.coder",
    });
    expect([letter!.header.get("Dead-Task"), letter!.header.get("Task-Owner")]).toEqual([
      "t",
      "key:mallory",
    ]);
    expect(JSON.parse(letter!.string())).toEqual(user("refuse this", { taskId: "t" }));
  });

  it("tells owners apart whose names differ in blanks and letters outside of ASCII", async () => {
    const { queue } = await start();
    const owners = ["user:ann", "user:ann ", "user:änn", "user:ann\u0000", "user:ann\r\nx: y"];
    for (const owner of owners) await queue.submit(user(owner, { taskId: "t" }), { owner });
    for (const owner of owners) {
      const found = await queue.result("t", { owner, wait: 10_000 });
      expect(found?.owner).toBe(owner);
      expect(found?.task.artifacts?.[0]?.parts[0]?.text).toBe(`task ${owner} context ${owner}`);
    }
  });
});

it("takes tasks that come over NATS without an owner as they are, and keeps them from callers", async () => {
  const bus = await startBus();
  const runtime = await startRuntime(remembering());
  const keys = Object.entries(KEYS).map(
    ([who, role]) => [who, { role, hash: hashOf(tokenOf(who as Who)) }] as const,
  );
  const { url } = await setupGateway({
    plugins: [
      [sidecar, { name: "coder", runtime: { url: runtime.url }, nats: { url: bus.server.url } }],
    ],
    config: { auth: { keys: Object.fromEntries(keys) } },
    client: false,
  });
  await until(async () => (await fetch(`${url}/sidecar/ready`)).ok);
  const request = user("nobody's", { taskId: "task-1", contextId: "talk" });
  await jetstream(bus.connection).publish("agent.tasks.coder", JSON.stringify(request));
  const headers = (who: Who) => ({
    "content-type": "application/json",
    authorization: `Bearer ${tokenOf(who)}`,
  });
  const look = async (who: Who) =>
    fetch(`${url}/sidecar/tasks/task-1?wait=2s`, { headers: headers(who) });
  expect((await look("operator")).status).toBe(200);
  expect(runtime.tasks.map(({ body }) => body)).toEqual([request]);
  const query = { last_by_subj: "agent.results.task-1" };
  const stored = await bus.manager.streams.getMessage("AGENT_RESULTS", query);
  expect(stored!.json()).toMatchObject({ id: "task-1", contextId: "talk" });
  expect((await look("alice")).status).toBe(202);
  await fetch(`${url}/sidecar/tasks`, {
    method: "POST",
    headers: headers("alice"),
    body: JSON.stringify(user("mine", { taskId: "task-1", contextId: "talk" })),
  });
  const own = (await (await look("alice")).json()) as { artifacts: unknown };
  expect(own.artifacts).toEqual([{ parts: [{ text: "task mine context mine" }] }]);
  const after = await bus.manager.streams.getMessage("AGENT_RESULTS", query);
  expect(after!.seq).toBe(stored!.seq);
});
