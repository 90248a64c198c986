import { Writable } from "node:stream";
import type { Task, TaskPushNotificationConfig } from "@a2a-js/sdk";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import a2a from "../../../plugins/a2a/index.ts";
import { Webhooks } from "../../../plugins/a2a/standard/push/webhook.ts";
import type { Resolve } from "../../../core/kit/addresses.ts";
import { makeFolder } from "../../kit/folder.ts";
import { startReceiver, stateOf } from "./receiver.ts";
import { BINDINGS, connect, rpc, say, sending, startTck, TCK } from "./kit.ts";

function webhook(url: string, rest: object = {}): TaskPushNotificationConfig {
  return { tenant: "", id: "", taskId: "", url, token: "", authentication: undefined, ...rest };
}

const ALLOWED = { push: { enabled: true, allow: ["127.0.0.0/8"] } };

describe.each(BINDINGS)("push notifications through %s", (binding) => {
  it("tells a webhook of everything about a task that was made with it, in order, with its credentials", async () => {
    const receiver = await startReceiver();
    const { url } = await startTck({ options: ALLOWED });
    const client = await connect(url, binding);
    const config = webhook(receiver.url, {
      token: "the-token",
      authentication: { scheme: "Bearer", credentials: "the-secret" },
    });
    const request = sending(say("tck-stream-001"), { taskPushNotificationConfig: config });
    const task = (await client.sendMessage(request)) as Task;
    await receiver.end();
    expect(receiver.states()).toEqual([
      "TASK_STATE_SUBMITTED",
      "TASK_STATE_WORKING",
      "TASK_STATE_WORKING",
      undefined,
      "TASK_STATE_COMPLETED",
    ]);
    expect(receiver.received[0]!.body).toMatchObject({ task: { id: task.id } });
    expect(receiver.received[3]!.body).toMatchObject({
      artifactUpdate: { taskId: task.id, artifact: { parts: [{ text: "Stream hello from TCK" }] } },
    });
    for (const { headers } of receiver.received)
      expect(headers).toMatchObject({
        "content-type": "application/a2a+json",
        authorization: "Bearer the-secret",
        "x-a2a-notification-token": "the-token",
      });
  });

  it("keeps webhooks of a task: adds, replaces, reads, lists and deletes them", async () => {
    const receiver = await startReceiver();
    const { url } = await startTck({ options: ALLOWED });
    const client = await connect(url, binding);
    const { id: taskId } = (await client.sendMessage(sending(say("tck-input-required")))) as Task;
    const of = (id: string) => ({ tenant: "", taskId, id });
    const made = await client.createTaskPushNotificationConfig(
      webhook(receiver.url, { taskId, token: "one" }),
    );
    expect(made).toMatchObject({ id: expect.stringMatching(/./), taskId, token: "one" });
    await client.createTaskPushNotificationConfig(
      webhook(receiver.url, { taskId, id: made.id, token: "two" }),
    );
    await client.createTaskPushNotificationConfig(
      webhook(`http://127.0.0.1:${receiver.port}/other`, { taskId, id: "other" }),
    );
    expect(await client.getTaskPushNotificationConfig(of(made.id))).toMatchObject({ token: "two" });
    const list = () =>
      client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" });
    expect((await list()).configs.map(({ id }) => id)).toEqual([made.id, "other"]);
    await client.deleteTaskPushNotificationConfig(of("other"));
    await client.deleteTaskPushNotificationConfig(of("other"));
    await expect(client.getTaskPushNotificationConfig(of("other"))).rejects.toThrow(/no such/);
    await client.sendMessage(sending(say("tck-complete-task", { taskId })));
    await receiver.end();
    expect(
      receiver.received.every(({ headers }) => headers["x-a2a-notification-token"] === "two"),
    ).toBe(true);
  });
});

it("tries again in order when a webhook fails, and counts how it ended", async () => {
  const receiver = await startReceiver((count) => (count < 2 ? 503 : 200));
  const { url, gateway } = await startTck({ options: ALLOWED });
  const client = await connect(url, "JSONRPC");
  const config = webhook(receiver.url);
  await client.sendMessage(
    sending(say("tck-complete-task"), { taskPushNotificationConfig: config }),
  );
  await receiver.end();
  expect(receiver.states().slice(0, 4)).toEqual([
    ...Array.from({ length: 3 }, () => "TASK_STATE_SUBMITTED"),
    "TASK_STATE_WORKING",
  ]);
  await expect
    .poll(async () => (await gateway.manage()).metrics())
    .toMatch(/a2a_push_notifications_total\{outcome="delivered"\} 4/);
});

it("gives a notification up that is refused or redirected, goes on with the next, and logs no secret", async () => {
  const receiver = await startReceiver((count) => [400, 302][count] ?? 200);
  let log = "";
  const stream = new Writable({
    write: (line, _encoding, done) => done(void (log += String(line))),
  });
  const skill = { id: "tck", description: "For tests.", function: "./skill.mjs" };
  const { url, gateway } = await setupGateway({
    plugins: [[a2a, { listener: "main", skills: [skill], ...ALLOWED }]],
    cwd: TCK,
    log: pino(stream),
    client: false,
  });
  const client = await connect(url, "JSONRPC");
  const config = webhook(receiver.url, { token: "token-secret" });
  await client.sendMessage(
    sending(say("tck-complete-task"), { taskPushNotificationConfig: config }),
  );
  await receiver.end();
  expect(receiver.states()).toEqual([
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    undefined,
    "TASK_STATE_COMPLETED",
  ]);
  expect(await (await gateway.manage()).metrics()).toMatch(
    /a2a_push_notifications_total\{outcome="failed"\} 2/,
  );
  expect(log).toContain("a push notification was not delivered");
  expect(log).not.toMatch(/secret/);
});

it("leaves out what comes between when too much waits, but never the end", async () => {
  const receiver = await startReceiver();
  const { url, gateway } = await startTck({
    options: { push: { ...ALLOWED.push, maxPending: 1 } },
  });
  const client = await connect(url, "JSONRPC");
  const config = webhook(receiver.url);
  await client.sendMessage(
    sending(say("tck-stream-artifact-chunked"), { taskPushNotificationConfig: config }),
  );
  await receiver.end();
  expect(receiver.received.length).toBeLessThan(6);
  expect(await (await gateway.manage()).metrics()).toMatch(
    /a2a_push_notifications_total\{outcome="dropped"\} [1-9]/,
  );
});

it("delivers what waits before the gateway is closed", async () => {
  const receiver = await startReceiver();
  const { url, gateway } = await startTck({ options: ALLOWED });
  const client = await connect(url, "JSONRPC");
  const config = webhook(receiver.url);
  await client.sendMessage(
    sending(say("tck-complete-task"), { taskPushNotificationConfig: config }),
  );
  await gateway.close({ grace: 1_000 });
  expect(receiver.states().at(-1)).toBe("TASK_STATE_COMPLETED");
});

describe("T7: a webhook", () => {
  it("must be public: every spelling of an address that is not is refused", async () => {
    const receiver = await startReceiver();
    const { url } = await startTck({ options: { push: { enabled: true } } });
    const made = await rpc(url, "SendMessage", {
      message: { messageId: "ssrf", role: "ROLE_USER", parts: [{ text: "hi" }] },
    });
    const taskId = made.body.result!.task.id;
    const add = (target: string) =>
      rpc(url, "CreateTaskPushNotificationConfig", { taskId, url: target });
    const { port } = receiver;
    const targets = [
      `http://127.0.0.1:${port}/`,
      `http://127.1:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f000001:${port}/`,
      `http://0177.0.0.1:${port}/`,
      `http://0.0.0.0:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::]:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://[::ffff:a9fe:a9fe]/`,
      `http://[64:ff9b::7f00:1]/`,
      `http://[64:ff9b:1::a00:1]/`,
      `http://[2002:7f00:1::]/`,
      `http://[2001:0:7f00:1::]/`,
      `http://[fe80::1]/`,
      `http://[fd00:ec2::254]/`,
      `http://１２７.０.０.１:${port}/`,
      "http://169.254.169.254/latest/meta-data/",
      "http://100.100.100.200/",
      "http://168.63.129.16/",
      "http://100.64.0.1/",
      "http://10.0.0.1/",
      "http://172.16.0.1/",
      "http://192.168.0.1/",
      "http://224.0.0.1/",
      "http://255.255.255.255/",
      "https://user:pass@example.com/",
      "file:///etc/passwd",
      "ftp://example.com/",
      "gopher://example.com/",
      "not a url",
      "",
    ];
    const answers = await Promise.all(targets.map(add));
    expect(answers.map(({ body }, row) => [targets[row], body.error?.code])).toEqual(
      targets.map((target) => [target, -32602]),
    );
    expect((await add("https://example.com/hook")).body).toMatchObject({ result: { taskId } });
    expect(receiver.connections()).toBe(0);
  });

  it("is connected to at the address that was checked: a name that leads inside is refused whenever it does", async () => {
    const receiver = await startReceiver();
    const answers = [
      ["93.184.215.14"],
      ["127.0.0.1"],
      ["93.184.215.14", "127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["fe80::1%lo"],
      [],
    ];
    const resolve: Resolve = (_host, _options, done) =>
      done(
        null,
        answers[asked++]!.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    let asked = 0;
    const webhooks = new Webhooks({ allow: [], timeout: 300 }, resolve);
    onTestFinished(() => webhooks.close());
    const post = () =>
      webhooks.post({
        url: `http://rebind.example.com:${receiver.port}/`,
        headers: {},
        body: "{}",
        signal: new AbortController().signal,
      });
    // The first one may be connected to, but nobody is there.
    await expect(post()).rejects.toThrow(/./);
    for (let round = 1; round < answers.length; round++)
      await expect(post()).rejects.toThrow(/does not lead to a public address/);
    expect([asked, receiver.connections()]).toEqual([answers.length, 0]);
  });

  it("may be inside where the operator says so: by address, network or name, but by name never the metadata of a cloud", async () => {
    const receiver = await startReceiver();
    let address = "127.0.0.1";
    const resolve: Resolve = (_host, _options, done) => done(null, [{ address, family: 4 }]);
    const post = async (allow: string[], host: string) => {
      const webhooks = new Webhooks({ allow, timeout: 60_000 }, resolve);
      onTestFinished(() => webhooks.close());
      const url = `http://${host}:${receiver.port}/`;
      const signal = new AbortController().signal;
      return webhooks.post({ url, headers: {}, body: "{}", signal });
    };
    expect(await post(["127.0.0.1"], "127.0.0.1")).toBe(204);
    expect(await post(["127.0.0.0/8"], "hooks.internal")).toBe(204);
    expect(await post(["hooks.internal"], "hooks.internal")).toBe(204);
    expect(await post(["HOOKS.internal"], "Hooks.Internal")).toBe(204);
    await expect(post(["hooks.internal"], "other.internal")).rejects.toThrow(/public/);
    address = "169.254.169.254";
    await expect(post(["hooks.internal"], "hooks.internal")).rejects.toThrow(/public/);
    expect(receiver.received).toHaveLength(4);
  });

  it("delivers nothing that begins after its webhooks were closed, whether or not they delivered before", async () => {
    const receiver = await startReceiver();
    const webhooks = () => new Webhooks({ allow: ["127.0.0.1"], timeout: 60_000 });
    const [used, unused] = [webhooks(), webhooks()];
    const post = (by: Webhooks) =>
      by.post({
        url: `http://127.0.0.1:${receiver.port}/`,
        headers: {},
        body: "{}",
        signal: new AbortController().signal,
      });
    expect(await post(used)).toBe(204);
    await Promise.all([used.close(), unused.close()]);
    for (const each of [used, unused]) await expect(post(each)).rejects.toThrow(/closed|destroyed/);
    expect(receiver.received).toHaveLength(1);
  });

  it.each(["10.0.0.0/33", "10.0.0.0/8/8", "a b", "http://x", "*.internal", "10.0.0.0/", "::/129"])(
    "is not allowed by %j, which is nothing",
    async (entry) => {
      expect(() => new Webhooks({ allow: [entry], timeout: 1 })).toThrow(/push\.allow/);
    },
  );

  it("has credentials that fit in a header, and a task has sixteen of them at most", async () => {
    const { url } = await startTck({ options: { push: { enabled: true } } });
    const message = { messageId: "many", role: "ROLE_USER", parts: [{ text: "hi" }] };
    const taskId = (await rpc(url, "SendMessage", { message })).body.result!.task.id;
    const add = async (rest: object) => {
      const config = { taskId, url: "https://example.com/", ...rest };
      return (await rpc(url, "CreateTaskPushNotificationConfig", config)).body;
    };
    expect(await add({ token: "a\r\nx: y" })).toMatchObject({ error: { code: -32602 } });
    const authentication = { scheme: "Bearer", credentials: "a\nb" };
    expect(await add({ authentication })).toMatchObject({ error: { code: -32602 } });
    expect(await add({ authentication: { scheme: "Be arer", credentials: "a" } })).toMatchObject({
      error: { code: -32602 },
    });
    for (let count = 0; count < 16; count++)
      expect(await add({})).toMatchObject({ result: { taskId } });
    expect(await add({})).toMatchObject({
      error: { code: -32603, message: expect.stringContaining("16") },
    });
  });
});

it("goes on behind a restart: what was not delivered is told again, under its id, and what comes is told", async () => {
  let isUp = false;
  const receiver = await startReceiver(() => (isUp ? 204 : 503));
  const folder = makeFolder();
  const start = () =>
    startTck({
      options: { push: { ...ALLOWED.push, retries: 10 } },
      config: { store: `sqlite:${folder}/gateway.db` },
    });
  const first = await start();
  const client = await connect(first.url, "JSONRPC");
  const request = sending(say("tck-input-required"), {
    taskPushNotificationConfig: webhook(receiver.url, { token: "kept" }),
  });
  const { id: taskId } = (await client.sendMessage(request)) as Task;
  await expect.poll(() => receiver.received.length).toBeGreaterThan(0);
  await first.gateway.close();
  const before = receiver.received.length;
  isUp = true;
  const second = await start();
  await expect.poll(() => receiver.states().slice(before)).toEqual(["TASK_STATE_INPUT_REQUIRED"]);
  const next = await connect(second.url, "JSONRPC");
  await next.sendMessage(sending(say("tck-complete-task", { taskId })));
  await receiver.end();
  const ids = (state: string) =>
    receiver.received.flatMap(({ headers, body }) =>
      stateOf(body) === state ? [headers["webhook-id"]] : [],
    );
  expect(new Set(ids("TASK_STATE_COMPLETED")).size).toBe(1);
  expect(
    receiver.received.every(({ headers }) => headers["x-a2a-notification-token"] === "kept"),
  ).toBe(true);
  await second.gateway.close();
  const told = receiver.received.length;
  await start();
  expect(receiver.received.length).toBe(told);
});
