import { pino } from "pino";
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import sidecar, { TaskQueue, type TaskQueueService } from "../../../plugins/sidecar/index.ts";
import { completed, idOf, sendJson, startRuntime, statusOf, until, user } from "./kit.ts";

const KEYS = { alice: "caller", bob: "caller", operator: "operator", viewer: "viewer" } as const;
const tokenOf = (name: string): string => `${name}-0123456789abcdef0123456789abcdef`;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A sidecar whose every key has its role. */
async function start(answers: Parameters<typeof startRuntime>[0] = {}) {
  const runtime = await startRuntime(answers);
  const keys = Object.entries(KEYS).map(
    ([name, role]) => [name, { role, hash: `sha256:${digest(tokenOf(name))}` }] as const,
  );
  const { url } = await setupGateway({
    plugins: [[sidecar, { runtime: { url: runtime.url } }]],
    config: { auth: { keys: Object.fromEntries(keys) } },
    client: false,
  });
  const ask = (who: keyof typeof KEYS | undefined, path: string, init: RequestInit = {}) =>
    fetch(`${url}/sidecar${path}`, {
      ...init,
      headers: {
        "content-type": "application/json",
        ...(who && { authorization: `Bearer ${tokenOf(who)}` }),
      },
    });
  const submit = (who: keyof typeof KEYS, body: unknown) =>
    ask(who, "/tasks", { method: "POST", body: JSON.stringify(body) });
  const look = (who: keyof typeof KEYS | undefined, path: string) =>
    fetch(`${url}/_meta/sidecar${path}`, {
      headers: who ? { authorization: `Bearer ${tokenOf(who)}` } : {},
    });
  return { runtime, url, ask, submit, look };
}

it("T4: shows a result to whoever handed the task in, and to operators; to others it is pending", async () => {
  const { ask, submit } = await start();
  const response = await submit("alice", user("a", { taskId: "t/1" }));
  expect([response.status, response.headers.get("location")]).toEqual([
    202,
    "/sidecar/tasks/t%2F1",
  ]);
  const own = await ask("alice", "/tasks/t%2F1?wait=10s");
  expect([own.status, await own.json()]).toEqual([200, completed("t/1")]);
  const others = await ask("bob", "/tasks/t%2F1");
  expect([others.status, await others.json()]).toEqual([202, { id: "t/1", pending: true }]);
  const nobodys = await ask("bob", "/tasks/none");
  expect([nobodys.status, await nobodys.json()]).toEqual([202, { id: "none", pending: true }]);
  expect((await ask("operator", "/tasks/t%2F1?owner=key:alice")).status).toBe(200);
});

it("T1: forwards nothing of the request that handed a task in", async () => {
  const { runtime, ask, submit } = await start();
  await submit("alice", user("a", { taskId: "t" }));
  await ask("alice", "/tasks/t?wait=10s");
  expect(JSON.stringify(runtime.asked)).not.toContain(tokenOf("alice"));
});

it("refuses what is no request, and whoever may not", async () => {
  const { ask, submit } = await start();
  expect((await submit("alice", { message: { role: "system", parts: [] } })).status).toBe(422);
  expect((await ask("alice", "/tasks", { method: "POST", body: "{" })).status).toBe(400);
  expect((await submit("viewer", user("a"))).status).toBe(403);
  expect((await ask("alice", "/drain", { method: "POST" })).status).toBe(403);
  expect((await ask(undefined, "")).status).toBe(401);
  expect((await ask("viewer", "")).status).toBe(200);
  expect((await ask("alice", "/tasks/t?wait=soon")).status).toBe(422);
});

it("tells what waits and runs, and to operators what failed", async () => {
  let finish = (): void => {};
  const { runtime, ask, submit, look } = await start({
    "/": (asked, res) => {
      if (JSON.stringify(asked.body).includes("refuse")) return sendJson(res, {}, 400);
      finish = () => sendJson(res, completed(idOf(asked)));
    },
  });
  await submit("alice", user("refuse", { taskId: "bad" }));
  expect((await ask("alice", "/tasks/bad?wait=10s")).status).toBe(200);
  await submit("alice", user("b", { taskId: "slow" }));
  await submit("alice", user("c", { taskId: "next" }));
  const queue = async (): Promise<unknown> => (await look("viewer", "")).json();
  await expect
    .poll(queue)
    .toMatchObject({ ok: true, tasks: { waiting: 1, running: 1 }, running: ["slow"] });
  const { ok, failed } = (await (await look("operator", "/failed")).json()) as {
    ok: unknown;
    failed: unknown[];
  };
  expect(ok).toBe(true);
  const why = { reason: "refused", message: "The runtime refuses the task (400).", attempt: 1 };
  expect(failed).toEqual([
    {
      at: expect.any(String) as string,
      task: "bad",
      owner: "key:alice",
      outcome: "dead",
      ...why,
    },
  ]);
  for (const who of ["viewer", "alice"] as const)
    expect((await look(who, "/failed")).status).toBe(403);
  expect((await look(undefined, "")).status).toBe(401);
  finish();
  await until(() => runtime.tasks.length === 3);
  finish();
  expect((await ask("alice", "/tasks/next?wait=10s")).status).toBe(200);
});

it("is a pair of tools for agents", async () => {
  const runtime = await startRuntime();
  const lines: string[] = [];
  const { client } = await setupGateway({
    plugins: [[sidecar, { runtime: { url: runtime.url } }]],
    log: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
  });
  const submitted = await client.callTool({ name: "task_submit", arguments: { text: "do" } });
  const { id } = submitted.structuredContent as { id: string };
  const result = await client.callTool({
    name: "task_result",
    arguments: { id, wait_seconds: 10 },
  });
  expect(result.structuredContent).toEqual(completed(id));
  const further = { text: "go on", context_id: "talk-1" };
  const { structuredContent } = await client.callTool({ name: "task_submit", arguments: further });
  const next = structuredContent as { id: string };
  await client.callTool({ name: "task_result", arguments: { ...next, wait_seconds: 10 } });
  const messages = runtime.tasks.map(({ body }) => body!.message as { contextId?: string });
  const named = messages.map(({ contextId = "" }) => contextId.startsWith("talk-1-"));
  expect(named).toEqual([false, true]);
  // What went well warns of nothing.
  const told = () => lines.map((line) => JSON.parse(line) as { msg: string; level: number });
  const levels = () => told().flatMap(({ msg, level }) => (msg === "task" ? [level] : []));
  await expect.poll(levels).toEqual([30, 30]);
});

it("says to the runtime of a task that goes on, and of no other, that it does", async () => {
  const { runtime, ask, submit } = await start({
    "/": (asked, res) => {
      const state = runtime.tasks.length === 1 ? "input-required" : "completed";
      sendJson(res, { id: idOf(asked), status: { state } });
    },
  });
  for (const messageId of ["m-1", "m-2"]) {
    await submit("alice", user("a", { taskId: "t", messageId }));
    await until(() => runtime.tasks.length === Number(messageId.slice(2)));
    expect((await ask("alice", "/tasks/t?wait=10s")).status).toBe(200);
  }
  expect(runtime.tasks.map(({ headers }) => headers["a2a-task-continues"])).toEqual([
    undefined,
    "true",
  ]);
});

it("leaves a running task its end when a reload changes the options", async () => {
  let answer = (): void => {};
  const runtime = await startRuntime({
    "/": (asked, res) => {
      answer = () => sendJson(res, completed(idOf(asked)));
    },
  });
  let queue: TaskQueueService | undefined;
  const peek = definePlugin({
    name: "peek",
    inject: { queue: TaskQueue },
    setup: ({ services }) => void (queue = services.queue),
  });
  const options = { runtime: { url: runtime.url } };
  const { gateway, url } = await setupGateway({
    plugins: [[sidecar, options], peek],
    client: false,
  });
  await queue!.submit(user("a", { taskId: "t" }));
  await until(() => runtime.tasks.length === 1);
  const config = (more: object) => ({
    listeners: { main: { port: 0 } },
    plugins: { sidecar: { ...options, ...more }, peek: {} },
  });
  await gateway.apply(config({ maxDeliver: 3 }));
  // The one before is still at work: two at a time would be one too many (R018).
  await queue!.submit(user("b", { taskId: "u" }));
  expect((await statusOf(url)).running).toEqual([]);
  answer();
  expect((await queue!.result("t", { wait: 10_000 }))?.task).toEqual(completed("t"));
  await until(() => runtime.tasks.length === 2);
  answer();
  expect((await queue!.result("u", { wait: 10_000 }))?.task).toEqual(completed("u"));
  expect(runtime.tasks.map(idOf)).toEqual(["t", "u"]);
});
