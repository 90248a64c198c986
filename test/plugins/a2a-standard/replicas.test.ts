import { describe, expect, it } from "vitest";
import type { GatewayError, Principal } from "../../../core/index.ts";
import type { StreamEvent } from "../../../plugins/a2a/contract/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, BOB, say, startRuntime, statesIn, type TestRuntime } from "../a2a/kit.ts";
import { useServer as startNats } from "../nats/kit.ts";
import { startServer as startPostgres } from "../postgres/kit.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { until } from "../../kit/until.ts";
import { keyFor, PUSH, send, webhooksOf } from "./kit.ts";
import { startReceiver } from "./receiver.ts";

/** Writes a word and stays until it is cancelled; or asks, and says what it was answered. */
const SKILL = `
export default {
  async run({ text, signal, write, ask }) {
    if (text === "stay") {
      write("begun");
      await new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    }
    return text === "ask" ? ask("What?") : "heard " + text;
  },
};
`;

/** Two gateways of one store. */
async function start(store: string, auth?: object): Promise<[TestRuntime, TestRuntime]> {
  const cwd = makeFolder({ "skill.mjs": SKILL });
  const skills = [{ id: "skill", function: "./skill.mjs" }];
  const config = { store, ...(auth && { auth }) };
  const options = { push: PUSH };
  const one = (): Promise<TestRuntime> => startRuntime({ cwd, skills, options, config });
  return [await one(), await one()];
}

const begun = { artifacts: [{ parts: [{ text: "begun" }] }], status: { state: "working" } };

const STORES = storesOf(["NATS", startNats], ["PostgreSQL", startPostgres]);

describe.each(STORES)("gateways of one %s", (_name, open) => {
  it("a task at work at one of them is shown and cancelled at another, for its owner alone", async () => {
    const [here, there] = await start((await open()).url);
    const { id } = await here.runtime().send(say("stay"), { principal: ALICE });
    await until(() => here.runtime().get(id, ALICE).task.artifacts?.length === 1);
    expect(await there.runtime().look(id, ALICE)).toMatchObject({ id, ...begun });
    const refused = { code: "not_found" };
    await expect(there.runtime().look(id, BOB)).rejects.toMatchObject(refused);
    await expect(there.runtime().cancel(id, BOB)).rejects.toMatchObject(refused);
    expect(await there.runtime().cancel(id, ALICE)).toMatchObject({
      status: { state: "canceled" },
    });
    for (const { runtime } of [here, there]) {
      expect(await runtime().look(id, ALICE)).toMatchObject({ status: { state: "canceled" } });
      await expect(runtime().cancel(id, ALICE)).rejects.toMatchObject({ code: "exists" });
    }
  });

  it("one at work at one of them is listed and followed at another, for its owner alone", async () => {
    const [here, there] = await start((await open()).url);
    const { id } = await here.runtime().send(say("stay"), { principal: ALICE });
    const { id: ended } = await there.runtime().send(say("word"), { principal: ALICE });
    await until(() => there.runtime().get(ended, ALICE).task.status.state === "completed");
    await until(() => here.runtime().get(id, ALICE).task.artifacts?.length === 1);
    for (const { runtime } of [here, there]) {
      const tasks = await runtime().listAll({}, ALICE);
      expect(new Set(tasks.map((task) => task.id))).toEqual(new Set([id, ended]));
      const [working, ...others] = await runtime().listAll({ state: "working" }, ALICE);
      expect([working!.id, others]).toEqual([id, []]);
      const said = tasks.find((task) => task.id === ended)!.whole();
      expect(await said).toMatchObject({ artifacts: [{ parts: [{ text: "heard word" }] }] });
      expect(await runtime().listAll({}, BOB)).toEqual([]);
    }
    const events: StreamEvent[] = [];
    const lost: GatewayError[] = [];
    const follow = (who: Principal) =>
      there.runtime().follow(
        id,
        who,
        (event) => events.push(event),
        (error) => lost.push(error),
      );
    await expect(follow(BOB)).rejects.toMatchObject({ code: "not_found" });
    await follow(ALICE);
    await until(() => events.length > 0);
    expect(events[0]).toMatchObject({ task: { id, ...begun } });
    await here.runtime().cancel(id, ALICE);
    await until(() => statesIn(events).at(-1) === "canceled");
    expect(lost).toEqual([]);
  });

  it("a stream and a page of a list of A2A 1.0 are the same at any of them", async () => {
    const [here, there] = await start((await open()).url);
    const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "stay" }] };
    const configuration = { returnImmediately: true };
    const { body } = await send(`${here.url}/message:send`, { body: { message, configuration } });
    const { id } = (body as unknown as { task: Record<string, string> }).task;
    const listed = await send(`${there.url}/tasks`, { method: "GET" });
    expect(listed.body).toMatchObject({ tasks: [{ id }], totalSize: 1 });
    const stream = fetch(`${there.url}/tasks/${id}:subscribe`, {
      method: "POST",
      headers: { "a2a-version": "1.0", accept: "text/event-stream" },
    });
    const answer = await stream;
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const text = answer.text();
    await until(async () => {
      const { body: shown } = await send(`${there.url}/tasks/${id}`, { method: "GET" });
      return JSON.stringify(shown).includes("begun");
    });
    await send(`${there.url}/tasks/${id}:cancel`, { body: {} });
    expect(await text).toContain("TASK_STATE_CANCELED");
  });

  it("one that waits at one of them is answered at another, and the first shows how it went on", async () => {
    const [here, there] = await start((await open()).url);
    const post = ({ url }: TestRuntime, text: string, more: object = {}) => {
      const message = { messageId: `m-${text}`, role: "ROLE_USER", parts: [{ text }], ...more };
      return send(`${url}/message:send`, { body: { message } });
    };
    const get = ({ url }: TestRuntime, id: string) => send(`${url}/tasks/${id}`, { method: "GET" });
    const { body } = await post(here, "ask");
    const { id: taskId, contextId } = (body as unknown as { task: Record<string, string> }).task;
    const waits = { status: { state: "TASK_STATE_INPUT_REQUIRED" } };
    expect((await get(there, taskId!)).body).toMatchObject(waits);
    expect((await get(here, taskId!)).body).toMatchObject(waits);
    const ended = { id: taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } };
    expect((await post(there, "more", { taskId })).body).toMatchObject({ task: ended });
    for (const runtime of [here, there])
      expect((await get(runtime, taskId!)).body).toMatchObject({
        ...ended,
        artifacts: [{ parts: [{ text: "heard more" }] }],
      });
    expect((await get(there, "nobody's")).status).toBe(404);
  });

  it("a message to a task that is at work at another one is refused as it is there", async () => {
    const [here, there] = await start((await open()).url);
    const { id } = await here.runtime().send(say("stay"), { principal: ALICE });
    for (const { runtime } of [here, there])
      await expect(
        runtime().send(say("more", { taskId: id }), { principal: ALICE }),
      ).rejects.toMatchObject({ code: "exists" });
    await here.runtime().cancel(id, ALICE);
  });

  it("webhooks of a task are set, shown and deleted at any of them, by its owner alone, and told by the one at work", async () => {
    const keys = { one: "one-key-0123456789", two: "two-key-0123456789" };
    const hashes = { one: keyFor(keys.one), two: keyFor(keys.two) };
    const [here, there] = await start((await open()).url, { keys: hashes });
    const headers = { authorization: `Bearer ${keys.one}` };
    const stranger = { authorization: `Bearer ${keys.two}` };
    const [named, added, removed] = [
      await startReceiver(),
      await startReceiver(),
      await startReceiver(),
    ];
    const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "stay" }] };
    const taskPushNotificationConfig = { url: named.url };
    const configuration = { returnImmediately: true, taskPushNotificationConfig };
    const sent = await send(`${here.url}/message:send`, {
      body: { message, configuration },
      headers,
    });
    const { id } = (sent.body as unknown as { task: Record<string, string> }).task;
    const { create, remove } = webhooksOf(there.url, id!, headers);
    expect(await create({ id: "added", url: added.url })).toMatchObject({
      result: { id: "added" },
    });
    expect(await create({ id: "removed", url: removed.url })).toMatchObject({ result: {} });
    const foreign = webhooksOf(there.url, id!, stranger);
    expect(await foreign.create({ url: added.url })).toMatchObject({ error: { code: -32001 } });
    expect(await foreign.remove("added")).toMatchObject({ error: { code: -32001 } });
    for (const { url } of [here, there]) {
      const all = [named.url, added.url, removed.url];
      expect(await webhooksOf(url, id!, headers).urls()).toEqual(all);
      expect(await webhooksOf(url, id!, stranger).urls()).toBe(-32001);
    }
    expect((await remove("removed")).error).toBeUndefined();
    const before = removed.received.length;
    await send(`${there.url}/tasks/${id}:cancel`, { body: {}, headers });
    await Promise.all([named.end(), added.end()]);
    expect(named.states().slice(0, 2)).toEqual(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]);
    for (const { ids } of [named, added]) {
      expect(ids("TASK_STATE_CANCELED")).toHaveLength(1);
      expect(new Set(ids()).size).toBe(ids().length);
    }
    expect(removed.received).toHaveLength(before);
    // The bound is that of all gateways.
    const more = Array.from({ length: 20 }, (_, at) => ({ id: `more-${at}`, url: added.url }));
    const answers = await Promise.all(
      more.map((config, at) =>
        webhooksOf([here.url, there.url][at % 2]!, id!, headers).create(config),
      ),
    );
    expect(answers.filter(({ error }) => error?.message.includes("16 webhooks"))).toHaveLength(6);
    expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(14);
    for (const { id: own } of more) await remove(own);
    // It has ended: webhooks are kept with it, and there is nothing more to tell.
    expect(await create({ id: "late", url: removed.url })).toMatchObject({ result: {} });
    expect(await webhooksOf(here.url, id!, headers).urls()).toEqual([
      named.url,
      added.url,
      removed.url,
    ]);
    expect(removed.received).toHaveLength(before);
  });

  it("a webhook goes with a task that waits at one of them and is answered at another", async () => {
    const [here, there] = await start((await open()).url);
    const receiver = await startReceiver();
    const post = ({ url }: TestRuntime, text: string, more: object = {}) => {
      const message = { messageId: `m-${text}`, role: "ROLE_USER", parts: [{ text }], ...more };
      const configuration = { taskPushNotificationConfig: { url: receiver.url } };
      return send(`${url}/message:send`, { body: { message, configuration } });
    };
    const { body } = await post(here, "ask");
    const { id: taskId } = (body as unknown as { task: Record<string, string> }).task;
    await expect.poll(() => receiver.states().at(-1)).toBe("TASK_STATE_INPUT_REQUIRED");
    await post(there, "more", { taskId });
    await receiver.end();
    expect(receiver.states()).toEqual([
      "TASK_STATE_SUBMITTED",
      "TASK_STATE_WORKING",
      "TASK_STATE_INPUT_REQUIRED",
      "TASK_STATE_WORKING",
      undefined,
      "TASK_STATE_COMPLETED",
    ]);
    expect(await webhooksOf(here.url, taskId!).urls()).toEqual([receiver.url]);
  });
});
