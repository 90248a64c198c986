import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { definePlugin, type GatewayError, type Principal } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import type { PluginEntry } from "../../../core/testing/index.ts";
import type { StreamEvent, Task } from "../../../plugins/a2a/contract/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { PUSH, send as request, webhooksOf } from "../a2a-standard/kit.ts";
import { startReceiver, stateOf } from "../a2a-standard/receiver.ts";
import { startFleet } from "../../e2e/fleet.ts";
import { startServer as startPostgres } from "../postgres/kit.ts";
import nats from "../../../plugins/nats/index.ts";
import { openDriver, useServer } from "../nats/kit.ts";
import { ALICE, BOB, say, startRuntime, statesIn, type TestRuntime } from "./kit.ts";

/** What skills of this test tell, and wait for. */
interface Stage {
  /** Texts that were begun, one entry for each time. */
  readonly begun: string[];
  /** Opens for those that hold. */
  readonly held: Promise<void>;
}

declare global {
  var queueStage: Stage;
}

/** Says `heard`; `hold` waits until it is let go, `ask` ends its turn with a question. */
const SKILL = `
export default {
  async run({ text, signal, write, ask }) {
    globalThis.queueStage.begun.push(text);
    if (text.startsWith("hold")) {
      write("begun");
      const gone = new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
      await Promise.race([gone, globalThis.queueStage.held]);
    }
    return text === "ask" ? ask("What?") : "heard " + text;
  },
};
`;

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

interface Wanted {
  readonly push?: object;
  readonly gateways?: number;
  readonly tasks?: object;
  readonly plugins?: readonly PluginEntry[];
  readonly skills?: readonly Readonly<Record<string, unknown>>[];
}

/** Gateways of one store that hand each other their tasks. */
const SKILLS = [{ id: "skill", function: "./skill.mjs" }];

async function start({
  gateways = 2,
  tasks = {},
  push = {},
  plugins = [],
  skills = SKILLS,
}: Wanted = {}) {
  const { promise: opened, resolve: open } = deferred();
  globalThis.queueStage = { begun: [], held: opened };
  onTestFinished(() => open());
  const { url } = await useServer();
  const cwd = makeFolder({ "skill.mjs": SKILL });
  const options = { execution: "queue", tasks, push };
  const one = (): Promise<TestRuntime> =>
    startRuntime({ cwd, skills, options, plugins, config: { store: url } });
  const all: TestRuntime[] = [];
  for (let each = 0; each < gateways; each++) all.push(await one());
  return { url, all, open, one };
}

const words = ({ artifacts = [] }: Task): string =>
  artifacts.flatMap(({ parts }) => parts.map(({ text }) => text)).join();
const begunOf = (text: string): number =>
  globalThis.queueStage.begun.filter((each) => each === text).length;
const whenBegun = (text: string): Promise<boolean> => until(() => begunOf(text) > 0);

/** Sends a message of A2A 1.0 whose webhook is at a URL. @returns the id of its task */
async function post(url: string, text: string, webhook: string, more: object = {}) {
  const message = { messageId: `m-${text}`, role: "ROLE_USER", parts: [{ text }], ...more };
  const taskPushNotificationConfig = { url: webhook };
  const configuration = { returnImmediately: true, taskPushNotificationConfig };
  const { body } = await request(`${url}/message:send`, { body: { message, configuration } });
  return (body as unknown as { task: { id: string } }).task.id;
}

/** The record of a task, which another replica changes. */
async function change(url: string, id: string, edit: (record: Record<string, unknown>) => object) {
  const driver = await openDriver(url);
  try {
    const [found] = await driver.list("a2a/tasks", { prefix: "key:", limit: 100 });
    const text = found!.value.slice(found!.value.indexOf(":") + 1);
    const record = JSON.parse(text) as { task: Task } & Record<string, unknown>;
    expect(record.task.id).toBe(id);
    await driver.put("a2a/tasks", found!.key, `1:${JSON.stringify(edit(record))}`);
  } finally {
    await driver.close();
  }
}

describe("execution: queue", () => {
  it("each task is done once, by whichever replica has room, and all of them show it", async () => {
    const { all } = await start();
    const sent = await Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        all[at % 2]!.runtime().send(say(`${at}`), { principal: ALICE }),
      ),
    );
    const tasks = await Promise.all(sent.map((task) => task.settled));
    expect(tasks.map(words).toSorted()).toEqual(
      Array.from({ length: 24 }, (_, at) => `heard ${at}`).toSorted(),
    );
    expect(new Set(globalThis.queueStage.begun).size).toBe(24);
    expect(globalThis.queueStage.begun).toHaveLength(24);
    for (const { runtime } of all)
      for (const { id } of tasks)
        expect((await runtime().look(id, ALICE)).status.state).toBe("completed");
    await expect(all[0]!.runtime().look(tasks[0]!.id, BOB)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("who sent it sees its progress and its end wherever it runs; the same message again meets it", async () => {
    const { all, open } = await start({ tasks: { maxRunning: 1 } });
    const [here, there] = all as [TestRuntime, TestRuntime];
    const running = await Promise.all(
      ["hold 1", "hold 2"].map((text) => here.runtime().send(say(text), { principal: ALICE })),
    );
    // One each, because neither has room for two.
    await Promise.all([whenBegun("hold 1"), whenBegun("hold 2")]);
    const message = say("third");
    const waiting = await here.runtime().send(message, { principal: ALICE, id: "third" });
    const told = running.map((task) => {
      const events: StreamEvent[] = [];
      task.watch((event) => events.push(event));
      return events;
    });
    const followed: StreamEvent[] = [];
    const lost: GatewayError[] = [];
    await there.runtime().follow(
      running[0]!.id,
      ALICE,
      (event) => followed.push(event),
      (error) => lost.push(error),
    );
    await until(() => told.every((events) => JSON.stringify(events).includes("begun")));
    await until(() => JSON.stringify(followed).includes("begun"));
    expect(waiting.task.status.state).toBe("submitted");
    expect((await there.runtime().look("third", ALICE)).status.state).toBe("submitted");
    const again = await there.runtime().send(message, { principal: ALICE, id: "third" });
    open();
    expect(words(await again.settled)).toBe("heard third");
    expect(words(await waiting.settled)).toBe("heard third");
    await until(() => told.every((events) => statesIn(events).at(-1) === "completed"));
    await until(() => statesIn(followed).at(-1) === "completed");
    expect(lost).toEqual([]);
    expect(begunOf("third")).toBe(1);
  });

  it("one that waits and one at work are cancelled from any replica", async () => {
    const { all } = await start({ tasks: { maxRunning: 1 } });
    const [here, there] = all as [TestRuntime, TestRuntime];
    const send = (text: string) => here.runtime().send(say(text), { principal: ALICE });
    const busy = [await send("hold 1"), await send("hold 2")];
    await Promise.all([whenBegun("hold 1"), whenBegun("hold 2")]);
    const { id, settled } = await send("never");
    await expect(there.runtime().cancel(id, BOB)).rejects.toMatchObject({ code: "not_found" });
    expect((await there.runtime().cancel(id, ALICE)).status.state).toBe("canceled");
    expect((await settled).status.state).toBe("canceled");
    for (const task of busy)
      expect((await there.runtime().cancel(task.id, ALICE)).status.state).toBe("canceled");
    for (const task of busy) expect((await task.settled).status.state).toBe("canceled");
    const last = await send("last");
    expect(words(await last.settled)).toBe("heard last");
    expect(begunOf("never")).toBe(0);
  });

  it("one that asks goes on with an answer at any replica, in the same task", async () => {
    const { all } = await start();
    const [here, there] = all as [TestRuntime, TestRuntime];
    const asked = await here.runtime().send(say("ask"), { principal: ALICE });
    const events: StreamEvent[] = [];
    await there.runtime().follow(
      asked.id,
      ALICE,
      (event) => events.push(event),
      () => {},
    );
    expect((await asked.settled).status.state).toBe("input-required");
    const answer = say("more", { taskId: asked.id });
    const ended = await (await there.runtime().send(answer, { principal: ALICE })).settled;
    expect([ended.id, words(ended), ended.history]).toMatchObject([
      asked.id,
      "heard more",
      [{ parts: [{ text: "ask" }] }, { parts: [{ text: "What?" }] }, { parts: [{ text: "more" }] }],
    ]);
    await until(() => statesIn(events).at(-1) === "completed");
    expect(statesIn(events)).toContain("input-required");
    const late = here.runtime().send(say("late", { taskId: asked.id }), { principal: ALICE });
    await expect(late).rejects.toMatchObject({ code: "exists" });
  });

  it("a call that asks gets its answer wherever that comes in, and the task fails when its replica is gone", async () => {
    const asker = definePlugin({
      name: "asker",
      setup(gateway) {
        gateway.tool("ask", {
          description: "Asks for a name.",
          input: z.object({ text: z.string() }),
          async run({ text }, { peer }) {
            const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
            const form = { message: "Who?", requestedSchema };
            const { content } = await peer.ask("elicitation/create", form);
            return `${text} ${(content as { name: string }).name}`;
          },
        });
      },
    });
    const { all } = await start({
      plugins: [asker],
      skills: [{ id: "ask", tool: { server: "asker", name: "ask", argument: "text" } }],
    });
    const ask = async (): Promise<string> => {
      const asked = await all[0]!.runtime().send(say("I am"), { principal: ALICE });
      expect((await asked.settled).status.state).toBe("input-required");
      return asked.id;
    };
    const answer = async ({ runtime }: TestRuntime, taskId: string): Promise<Task> =>
      (await runtime().send(say("Ada", { taskId }), { principal: ALICE })).settled;
    // Whichever of them has the call, one of these is the other.
    for (const each of all) expect(words(await answer(each, await ask()))).toBe("I am Ada");
    const ids = [await ask(), await ask(), await ask(), await ask()];
    await all[0]!.gateway.close({ grace: 0 });
    const states = await Promise.all(
      ids.map(async (id) => {
        // One whose gateway is gone is failed by the one that it is delivered to next.
        const ended = (): Promise<Task | false> =>
          all[1]!
            .runtime()
            .look(id, ALICE)
            .then((task) => task.status.state !== "input-required" && task);
        const { status } = await answer(all[1]!, id).catch(() => until(ended));
        return status.state;
      }),
    );
    for (const state of states) expect(["completed", "failed"]).toContain(state);
  });

  it("beyond its share nobody hands in more, at whichever replica, and it is counted", async () => {
    const { all } = await start({ tasks: { maxRunning: 1, maxTasks: 8, maxShare: 0.5 } });
    const [here, there] = all as [TestRuntime, TestRuntime];
    const send = ({ runtime }: TestRuntime, principal: Principal) =>
      runtime().send(say("hold"), { principal });
    for (let each = 0; each < 4; each++) await send(here, ALICE);
    await expect(send(here, ALICE)).rejects.toMatchObject({ code: "rate_limited" });
    await expect(send(there, ALICE)).rejects.toMatchObject({ code: "rate_limited" });
    for (let each = 0; each < 4; each++) await send(there, BOB);
    const other = createPrincipal({ id: "eve", kind: "key", roles: new Set(["caller"]) });
    await expect(send(there, other)).rejects.toMatchObject({ code: "rate_limited" });
    expect(await (await there.gateway.manage()).metrics()).toContain(
      "a2a_refused_messages_total 2",
    );
  });

  it("the late end of a replica that lost the task is refused, and nobody hears of it", async () => {
    const { all, url, open } = await start({ gateways: 1 });
    const [{ runtime, gateway }] = all as [TestRuntime];
    const task = await runtime().send(say("hold"), { principal: ALICE });
    await whenBegun("hold");
    // As another replica writes that was handed the task.
    const other = { replica: "other" };
    await change(url, task.id, (record) => ({ ...record, ...other }));
    const told: string[] = [];
    runtime().watchAll((_task, event) => void told.push(...statesIn([event])));
    open();
    await until(async () =>
      (await (await gateway.manage()).metrics()).includes('a2a_deliveries_total{outcome="lost"} 1'),
    );
    expect(told).toEqual([]);
    await change(url, task.id, (record) => {
      expect(record).toMatchObject({ ...other, task: { status: { state: "submitted" } } });
      return record;
    });
  });

  it("a replica that lost the task ends its work, and tells nobody what that still does", async () => {
    const { all, url } = await start({ gateways: 1 });
    const [{ runtime, gateway }] = all as [TestRuntime];
    const { id } = await runtime().send(say("hold"), { principal: ALICE });
    await whenBegun("hold");
    const told: string[] = [];
    runtime().watchAll((_task, event) => void told.push(...statesIn([event])));
    await change(url, id, (record) => ({ ...record, replica: "other" }));
    // Its skill would go on for ever.
    await until(async () =>
      (await (await gateway.manage()).metrics()).includes('a2a_deliveries_total{outcome="lost"} 1'),
    );
    expect(told).toEqual([]);
  });

  it("one that was begun too often, or whose sender is let in no more, fails without being begun", async () => {
    const { all, url, open } = await start({ gateways: 1, tasks: { maxRunning: 1 } });
    const [{ runtime }] = all as [TestRuntime];
    const eve = createPrincipal({
      id: "eve",
      kind: "user",
      roles: new Set(["caller"]),
      expiresAt: Date.now() + 2_000,
    });
    const held = await runtime().send(say("hold"), { principal: eve });
    await whenBegun("hold");
    const poison = await runtime().send(say("poison"), { principal: ALICE });
    const expired = await runtime().send(say("expired"), { principal: eve });
    await change(url, poison.id, (record) => ({
      ...record,
      queued: { ...(record["queued"] as object), runs: 5 },
    }));
    await until(() => Date.now() > eve.expiresAt!);
    open();
    await held.settled;
    const codes = await Promise.all(
      [poison, expired].map(async ({ id, settled }) => {
        const { status } = await settled;
        const { metadata } = await runtime()
          .look(id, eve)
          .catch(() => runtime().look(id, ALICE));
        return [status.state, metadata?.["code"]];
      }),
    );
    expect(codes).toEqual([
      ["failed", "internal"],
      ["failed", "unauthorized"],
    ]);
    expect(globalThis.queueStage.begun).toEqual(["hold"]);
  });

  it("a replica that ends gives what it has to the others, which begin it anew", async () => {
    const { all, one, url } = await start({ gateways: 1 });
    const [first] = all as [TestRuntime];
    const { id } = await first.runtime().send(say("hold"), { principal: ALICE });
    await whenBegun("hold");
    const second = await one();
    const follower = await second.runtime().look(id, ALICE);
    expect(follower.status.state).toBe("working");
    await first.gateway.close({ grace: 0 });
    await until(() => begunOf("hold") === 2);
    // The shutdown was no run that failed.
    await change(url, id, (record) => {
      expect(record["queued"]).toMatchObject({ runs: 1 });
      return record;
    });
    expect((await second.runtime().cancel(id, ALICE)).status.state).toBe("canceled");
  });

  it("webhooks are told once by whichever replica works, and set, shown and deleted at any", async () => {
    const { all, open } = await start({ push: PUSH, tasks: { maxRunning: 1 } });
    const receivers = [await startReceiver(), await startReceiver(), await startReceiver()];
    const [one, two, waiting] = receivers as [Receiver, Receiver, Receiver];
    const [here, there] = all as [TestRuntime, TestRuntime];
    // One each, because neither has room for two.
    const ids = [await post(here.url, "hold 1", one.url), await post(here.url, "hold 2", two.url)];
    await Promise.all([whenBegun("hold 1"), whenBegun("hold 2")]);
    const third = await post(here.url, "never", waiting.url);
    const extra = await startReceiver();
    for (const [at, id] of ids.entries()) {
      const { create, remove } = webhooksOf(all[at]!.url, id);
      expect(await create({ id: "extra", url: extra.url })).toMatchObject({ result: {} });
      expect(await create({ id: "gone", url: waiting.url })).toMatchObject({ result: {} });
      expect((await remove("gone")).error).toBeUndefined();
      for (const { url } of all)
        expect(await webhooksOf(url, id).urls()).toEqual([receivers[at]!.url, extra.url]);
    }
    expect(
      (
        await there
          .runtime()
          .cancel(third, ALICE)
          .catch(() => undefined)
      )?.id,
    ).toBeUndefined();
    await request(`${there.url}/tasks/${third}:cancel`, { body: {} });
    await waiting.end();
    open();
    await Promise.all([one.end(), two.end()]);
    await until(() => extra.ids("TASK_STATE_COMPLETED").length === 2);
    for (const { states, ids: told } of [one, two]) {
      expect(states()).toEqual([
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        ...Array.from({ length: states().length - 3 }, () => undefined),
        "TASK_STATE_COMPLETED",
      ]);
      expect(new Set(told()).size).toBe(told().length);
    }
    expect(waiting.states()).toEqual(["TASK_STATE_CANCELED"]);
  });

  it("a webhook goes on with a task that asks, and with one whose gateway ends", async () => {
    const { all, one, open } = await start({ gateways: 1, push: PUSH });
    const [first] = all as [TestRuntime];
    const [asked, held] = [await startReceiver(), await startReceiver()];
    const taskId = await post(first.url, "ask", asked.url);
    await expect.poll(() => asked.states().at(-1)).toBe("TASK_STATE_INPUT_REQUIRED");
    const id = await post(first.url, "hold", held.url);
    await whenBegun("hold");
    const second = await one();
    await first.gateway.close({ grace: 0 });
    await until(() => begunOf("hold") === 2);
    await post(second.url, "more", asked.url, { taskId });
    await asked.end();
    open();
    await held.end();
    expect(asked.states()).toEqual([
      "TASK_STATE_SUBMITTED",
      "TASK_STATE_WORKING",
      "TASK_STATE_INPUT_REQUIRED",
      "TASK_STATE_WORKING",
      undefined,
      "TASK_STATE_COMPLETED",
    ]);
    expect(held.ids("TASK_STATE_SUBMITTED")).toHaveLength(1);
    expect(held.ids("TASK_STATE_COMPLETED")).toHaveLength(1);
    expect(await webhooksOf(second.url, id).urls()).toEqual([held.url]);
  });

  it("does not start where the queue is not there and may not be made, and names it", async () => {
    const { url } = await useServer();
    const before = await openDriver(url);
    await before.close();
    const cwd = makeFolder({ "skill.mjs": SKILL });
    const starting = startRuntime({
      cwd,
      skills: SKILLS,
      options: { execution: "queue" },
      plugins: [[nats, { provision: "verify" }]],
      config: { store: url },
    });
    await expect(starting).rejects.toMatchObject({
      message: expect.stringContaining("stream propylon_queue does not exist") as string,
    });
  });

  it("is refused with a store that hands out no work, with what to do", async () => {
    const cwd = makeFolder({ "skill.mjs": SKILL });
    const starting = startRuntime({
      cwd,
      skills: [{ id: "skill", function: "./skill.mjs" }],
      options: { execution: "queue" },
    });
    await expect(starting).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("plugins.a2a.execution is queue") as string,
      hint: expect.stringContaining("store: nats://") as string,
    });
  });
});

/** Says which gateway works; what is slow ends when there is a file. */
const pidTool = (file: string): string => `
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "tools",
  setup(gateway) {
    gateway.tool("pid", {
      description: "Tells its process.",
      input: z.object({ text: z.string() }),
      async run({ text }) {
        while (text.startsWith("slow") && !existsSync(${JSON.stringify(file)})) await setTimeout(20);
        return "pid " + process.pid;
      },
    });
  },
});
`;

it.each(
  storesOf(
    ["NATS, which hands its tasks out", useServer, "queue"],
    ["NATS", useServer, "here"],
    ["PostgreSQL", startPostgres, "here"],
  ),
)(
  "gateways of one %s: the end of a task is told under one id, although its replica was killed while it told it",
  { timeout: PATIENCE * 180_000 },
  async (_name, open, execution) => {
    const { url: store } = await open();
    const skills = [{ id: "pid", tool: { server: "tools", name: "pid" } }];
    const a2a = { listener: "main", execution, skills, push: { ...PUSH, timeout: "60s" } };
    const go = join(makeFolder(), "go");
    const fleet = await startFleet(pidTool(go), [store, store], { a2a });
    // Whoever tells how it ended gets no answer from the first receiver of that.
    let isHung = true;
    const receiver = await startReceiver((_count, told) =>
      isHung && stateOf(told) === "TASK_STATE_COMPLETED" ? 0 : 204,
    );
    const id = await post(fleet[0]!.origin, "whose", receiver.url);
    await until(() => receiver.ids("TASK_STATE_COMPLETED").length === 1, 30_000);
    isHung = false;
    const { body } = await request(`${fleet[1]!.origin}/tasks/${id}`, { method: "GET" });
    const worker = fleet.find(({ pid }) => JSON.stringify(body).includes(`"pid ${pid}"`))!;
    // A queue has those begun again that its replica leaves.
    const others = Array.from({ length: execution === "queue" ? 10 : 0 }, (_, at) =>
      post(fleet[at % 2]!.origin, `slow ${at}`, receiver.url),
    );
    const tasks = [id, ...(await Promise.all(others))];
    await worker.kill();
    await writeFile(go, "");
    await until(() => receiver.endsOf(id).length > 1, 60_000);
    await until(() => tasks.every((task) => receiver.endsOf(task).length > 0), 60_000);
    for (const task of tasks) expect(new Set(receiver.endsOf(task)).size).toBe(1);
    const completed = receiver.states().filter((state) => /COMPLETED|FAILED/.test(state ?? ""));
    expect(new Set(completed)).toEqual(new Set(["TASK_STATE_COMPLETED"]));
    const other = fleet.find((program) => program !== worker)!;
    expect(await webhooksOf(other.origin, id).urls()).toEqual([receiver.url]);
  },
);
