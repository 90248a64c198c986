import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePlugin, type AnyPlugin } from "../../../core/index.ts";
import {
  textOf,
  taskSchema,
  type Message,
  type StreamEvent,
  type Task,
} from "../../../plugins/a2a/contract/index.ts";
import type { RunningTask, TaskFilter } from "../../../plugins/a2a/service.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, BOB, say, startRuntime, statesIn, type TestRuntime } from "./kit.ts";

/** A server with a tool that says what it is told, and one that waits. */
function tools(held: { open?: Promise<void>; calls: number } = { calls: 0 }): AnyPlugin {
  return definePlugin({
    name: "tools",
    setup(gateway) {
      gateway.tool("shout", {
        description: "Says it loudly.",
        input: z.object({ text: z.string() }),
        async run({ text }, { progress }) {
          held.calls++;
          progress?.({ progress: 1, total: 2, message: "breathing in" });
          await held.open;
          return text.toUpperCase();
        },
      });
    },
  });
}

const SHOUT = { id: "shout", tool: { server: "tools", name: "shout" } };

const words = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));

describe("a task", () => {
  it("R063: works on a message and ends with an artifact", async () => {
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools()] });
    const running = await runtime().send(say("hello"), { principal: ALICE });
    const events: StreamEvent[] = [];
    running.watch((event) => events.push(event));
    const task = await running.settled;
    expect(taskSchema.safeParse(task).success).toBe(true);
    expect(task.status.state).toBe("completed");
    expect(words(task)).toBe("HELLO");
    expect(statesIn(events)).toEqual(["submitted", "working", "working", "completed"]);
  });

  it("T4: is there for its owner alone", async () => {
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools()] });
    const { id } = await runtime().send(say("hello"), { principal: ALICE });
    expect(() => runtime().get(id, BOB)).toThrow("There is no such task.");
    expect(runtime().list({}, BOB)).toEqual([]);
    await expect(runtime().cancel(id, BOB)).rejects.toThrow("There is no such task.");
    expect(runtime().get(id, ALICE).id).toBe(id);
  });
});

const FUNCTIONS = {
  "echo.mjs": "export default { run: ({ text }) => text };",
  "ask.mjs":
    "export default { run: (task) => task.history.length > 0 ? 'thanks' : task.ask('And?') };",
  // Neither heeds its signal nor ends.
  "deaf.mjs": "export default { run: (task) => (task.write('at work'), new Promise(() => {})) };",
};

/** A runtime with functions; the first one is the default. */
const functions = async (
  ids: readonly ("echo" | "ask" | "deaf")[],
  options: Record<string, unknown> = {},
): Promise<TestRuntime> =>
  startRuntime({
    cwd: makeFolder(FUNCTIONS),
    skills: ids.map((id) => ({ id, function: `./${id}.mjs` })),
    options,
  });

async function isAtWork(running: RunningTask): Promise<void> {
  await expect.poll(() => words(running.task)).toBe("at work");
}

describe("an end from outside", () => {
  it("is a cancel by its owner, once", async () => {
    const { promise: opened, resolve: open } = deferred();
    const held = { open: opened, calls: 0 };
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools(held)] });
    const running = await runtime().send(say("hello"), { principal: ALICE });
    await expect.poll(() => held.calls).toBe(1);
    const task = await runtime().cancel(running.id, ALICE);
    expect(task.status.state).toBe("canceled");
    open();
    await expect(runtime().cancel(running.id, ALICE)).rejects.toThrow("is canceled already");
    await expect(running.settled).resolves.toBe(task);
  });

  it("comes before the work began, while it waits, and to a skill that is deaf", async () => {
    const { runtime } = await functions(["deaf", "ask"], { tasks: { cancelTimeout: "50ms" } });
    const first = await runtime().send(say("x"), { principal: ALICE });
    expect((await runtime().cancel(first.id, ALICE)).status.state).toBe("canceled");
    const deaf = await runtime().send(say("x"), { principal: ALICE });
    await isAtWork(deaf);
    expect((await runtime().cancel(deaf.id, ALICE)).status.state).toBe("canceled");
    const ask = await runtime().send(say("x"), { principal: ALICE, skill: "ask" });
    expect((await ask.settled).status.state).toBe("input-required");
    expect((await runtime().cancel(ask.id, ALICE)).status.state).toBe("canceled");
  });

  it("R057: is the end of the grace time: canceled by shutdown (C43)", async () => {
    const { runtime, gateway } = await functions(["deaf"]);
    const running = await runtime().send(say("x"), { principal: ALICE });
    await isAtWork(running);
    const closing = gateway.close({ grace: 50 });
    await expect(runtime().send(say("y"), { principal: ALICE })).rejects.toThrow("shutting down");
    const { status } = await running.settled;
    expect(status.state).toBe("failed");
    expect(textOf((status.message as Message).parts)).toBe("canceled by shutdown");
    await closing;
  });

  it("R056: is not the shutdown while there is time", async () => {
    const { promise: opened, resolve: open } = deferred();
    const held = { open: opened, calls: 0 };
    const { runtime, gateway } = await startRuntime({ skills: [SHOUT], plugins: [tools(held)] });
    const running = await runtime().send(say("hello"), { principal: ALICE });
    await expect.poll(() => held.calls).toBe(1);
    const closing = gateway.close({ grace: 10_000 });
    open();
    await closing;
    expect(running.task.status.state).toBe("completed");
  });

  it("is the time that its skill has", async () => {
    const cwd = makeFolder(FUNCTIONS);
    const skills = [{ id: "deaf", function: "./deaf.mjs", timeout: "50ms" }];
    const { runtime } = await startRuntime({
      cwd,
      skills,
      options: { tasks: { cancelTimeout: "50ms" } },
    });
    const running = await runtime().send(say("x"), { principal: ALICE });
    const { status } = await running.settled;
    expect(status.state).toBe("failed");
    expect(textOf((status.message as Message).parts)).toMatch(/did not answer within 50 ms/);
  });
});

describe("a message", () => {
  it("R022: makes a task with the id that its sender chose, one for each principal", async () => {
    const { runtime } = await functions(["echo"]);
    const alice = await runtime().send(say("hers"), { principal: ALICE, id: "task-001" });
    const bob = await runtime().send(say("his"), { principal: BOB, id: "task-001" });
    expect(words(await alice.settled)).toBe("hers");
    expect(words(await bob.settled)).toBe("his");
    expect(words(runtime().get("task-001", ALICE).task)).toBe("hers");
  });

  it("that comes again starts nothing new", async () => {
    const held = { calls: 0 };
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools(held)] });
    const message = say("once");
    const first = await runtime().send(message, { principal: ALICE });
    const second = await runtime().send(message, { principal: ALICE });
    expect(second.id).toBe(first.id);
    await first.settled;
    expect(held.calls).toBe(1);
    const other = await runtime().send(message, { principal: BOB });
    expect(other.id).not.toBe(first.id);
    await other.settled;
    const { messageId: _none, ...nameless } = say("chosen");
    for (let times = 0; times < 2; times++)
      await (
        await runtime().send(nameless, { principal: ALICE, id: "mine" })
      ).settled;
    expect(held.calls).toBe(3);
  });

  it("is refused by a task that takes none, and for one that is not there", async () => {
    const { runtime } = await functions(["echo"]);
    const { id, settled } = await runtime().send(say("x"), { principal: ALICE });
    await settled;
    const late = runtime().send(say("y", { taskId: id }), { principal: ALICE });
    await expect(late).rejects.toMatchObject({ code: "exists" });
    const lost = runtime().send(say("y", { taskId: "nowhere" }), { principal: ALICE });
    await expect(lost).rejects.toMatchObject({ code: "not_found" });
    const others = runtime().send(say("y", { taskId: id }), { principal: BOB });
    await expect(others).rejects.toMatchObject({ code: "not_found" });
    const unknown = runtime().send(say("y"), { principal: ALICE, skill: "none" });
    await expect(unknown).rejects.toThrow("This runtime has no such skill.");
  });

  it("is refused when too many are under way, with the time to wait", async () => {
    const { runtime } = await functions(["deaf"], {
      tasks: { maxRunning: 1, cancelTimeout: "10ms" },
    });
    const { id } = await runtime().send(say("x"), { principal: ALICE });
    const second = runtime().send(say("y"), { principal: BOB });
    await expect(second).rejects.toMatchObject({
      code: "rate_limited",
      headers: { "retry-after": "5" },
    });
    await runtime().cancel(id, ALICE);
  });

  it("without a word makes an empty answer, because a completed task has an artifact (R065)", async () => {
    const { runtime } = await functions(["echo"]);
    const task = await (await runtime().send(say(""), { principal: ALICE })).settled;
    expect(task.artifacts).toEqual([{ artifactId: "result", parts: [{ text: "" }] }]);
  });
});

describe("tasks", () => {
  it("are listed by their owner, the newest first, by context, state and time", async () => {
    const { runtime } = await functions(["echo", "ask"]);
    const send = async (text: string, contextId: string, skill: string): Promise<string> => {
      const running = await runtime().send(say(text, { contextId }), { principal: ALICE, skill });
      await running.settled;
      return running.id;
    };
    const ids = [
      await send("1", "a", "echo"),
      await send("2", "b", "ask"),
      await send("3", "a", "echo"),
    ];
    const list = (filter: TaskFilter): string[] =>
      runtime()
        .list(filter, ALICE)
        .map(({ id }) => id);
    expect(list({})).toEqual(ids.toReversed());
    expect(list({ contextId: "a" })).toEqual([ids[2], ids[0]]);
    expect(list({ state: "input-required" })).toEqual([ids[1]]);
    expect(list({ since: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(runtime().list({}, BOB)).toEqual([]);
  });

  it("are kept up to a number, and none waits for an answer for ever", async () => {
    const { runtime } = await functions(["echo"], { tasks: { maxTasks: 2 } });
    const ids: string[] = [];
    for (const text of ["1", "2", "3"]) {
      const running = await runtime().send(say(text), { principal: ALICE });
      await running.settled;
      ids.push(running.id);
    }
    expect(
      runtime()
        .list({}, ALICE)
        .map(({ id }) => id),
    ).toEqual([ids[2], ids[1]]);
    const waiting = await functions(["ask"], { tasks: { ttl: "1s" } });
    const asked = await waiting.runtime().send(say("x"), { principal: ALICE });
    await asked.settled;
    await expect.poll(() => asked.task.status.state).toBe("failed");
  });

  it("survive a reload, and go on with what is in force by then", async () => {
    const cwd = makeFolder(FUNCTIONS);
    const skills = [{ id: "ask", function: "./ask.mjs" }];
    const started = await startRuntime({ cwd, skills });
    const { runtime, gateway } = started;
    const asked = await runtime().send(say("x"), { principal: ALICE });
    await asked.settled;
    const { plugins } = gateway.config;
    const changed = { ...plugins, a2a: { listener: "main", skills, version: "2.0.0" } };
    const report = await gateway.apply({ ...gateway.written, plugins: changed });
    expect(report.plugins.changed).toContain("a2a");
    const again = await runtime().send(say("y", { taskId: asked.id }), { principal: ALICE });
    expect(again.id).toBe(asked.id);
    expect(words(await again.settled)).toBe("thanks");
  });

  it("are told to everybody who watches them all", async () => {
    const { runtime } = await functions(["echo"]);
    const seen: string[] = [];
    const stop = runtime().watchAll(({ status }, _event, { ref }) =>
      seen.push(`${ref} ${status.state}`),
    );
    await (
      await runtime().send(say("x"), { principal: ALICE })
    ).settled;
    stop();
    await (
      await runtime().send(say("y"), { principal: BOB })
    ).settled;
    expect(seen[0]).toBe("key:alice submitted");
    expect(seen.at(-1)).toBe("key:alice completed");
  });

  it("are counted", async () => {
    const { runtime, gateway } = await functions(["echo", "ask"]);
    for (const skill of ["echo", "ask"])
      await (
        await runtime().send(say("x"), { principal: ALICE, skill })
      ).settled;
    const page = await (await gateway.manage()).metrics();
    expect(page).toContain('a2a_tasks{state="completed"} 1');
    expect(page).toContain('a2a_tasks{state="input-required"} 1');
    expect(page).toContain('a2a_tasks_total{skill="echo",state="completed"} 1');
    expect(page).toContain('a2a_task_duration_seconds_count{skill="echo",state="completed"} 1');
  });
});
