import { describe, expect, it } from "vitest";
import { textOf, type Message, type Task } from "../../../plugins/a2a/contract/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, BOB, say, startRuntime, type TestRuntime } from "./kit.ts";

const FILES = {
  "flood.mjs": `export default { run({ text, write, artifact }) {
    const piece = "x".repeat(1_000);
    if (text === "write") for (let n = 0; n < 100; n++) write(piece);
    if (text === "artifacts") for (let n = 0; n < 100; n++) artifact({ artifactId: "a" + n, parts: [{ text: piece }] });
    if (text === "replace") { for (let n = 0; n < 100; n++) artifact({ parts: [{ text: piece }] }); return; }
    if (text === "return") return piece.repeat(100);
    return text;
  } };`,
  "odd.mjs": `const circle = {}; circle.self = circle;
    let deep = []; for (let n = 0; n < 20_000; n++) deep = [deep];
    const VALUES = { circle, deep, bigint: 10n };
    export default { run({ text, artifact, status, ask }) {
      const [how, what] = text.split(" ");
      const parts = [{ data: VALUES[what] }];
      if (how === "artifact") artifact({ parts });
      if (how === "status") status(VALUES[what]);
      if (how === "ask") ask(VALUES[what]);
      if (how === "return") return parts;
      return text;
    } };`,
  "ask.mjs": `export default { run({ ask }) { ask("What else?"); } };`,
};

async function start(skill: string, tasks: object = {}): Promise<TestRuntime> {
  const cwd = makeFolder(FILES);
  const skills = [{ id: skill, function: `./${skill}.mjs` }];
  return startRuntime({ cwd, skills, options: { tasks } });
}

async function send({ runtime }: TestRuntime, message: Message, principal = ALICE): Promise<Task> {
  return (await runtime().send(message, { principal })).settled;
}

const reason = ({ status }: Task): string => textOf(status.message?.parts ?? []);

describe("what a skill makes", () => {
  it.each(["write", "artifacts", "return"])("is bounded: %s", async (how) => {
    const task = await send(await start("flood", { maxTaskSize: 20_000 }), say(how));
    expect([task.status.state, task.metadata?.["code"]]).toEqual(["failed", "result_too_large"]);
    expect(reason(task)).toMatch(/20000 bytes.*tasks\.maxTaskSize/s);
    expect(JSON.stringify(task).length).toBeLessThan(22_000);
  });

  it("counts once what replaces something", async () => {
    const task = await send(await start("flood", { maxTaskSize: 20_000 }), say("replace"));
    expect([task.status.state, JSON.stringify(task.artifacts).length]).toEqual([
      "completed",
      1_047,
    ]);
  });

  it.each(
    ["artifact", "return", "status", "ask"].flatMap((how) =>
      ["circle", "bigint", "deep"].map((what) => `${how} ${what}`),
    ),
  )("that no JSON can hold fails its task and nothing else: %s", async (what) => {
    const started = await start("odd");
    const task = await send(started, say(what));
    expect(task.status.state).toBe("failed");
    expect((await send(started, say("hello"))).status.state).toBe("completed");
  });
});

describe("what is said to a task", () => {
  it("is bounded: a conversation in one task does not grow for ever", async () => {
    const started = await start("ask", { maxTaskSize: 20_000 });
    const { id } = await send(started, say("x".repeat(8_000)));
    await send(started, say("x".repeat(8_000), { taskId: id }));
    await expect(send(started, say("x".repeat(8_000), { taskId: id }))).rejects.toMatchObject({
      code: "too_large",
    });
    expect(started.runtime().get(id, ALICE).task.status.state).toBe("input-required");
  });

  it("counts for all tasks that wait: beyond their room none is taken", async () => {
    const started = await start("ask", { maxTotalSize: 20_000 });
    await send(started, say("x".repeat(8_000)));
    const second = await send(started, say("x".repeat(12_000)));
    await expect(send(started, say("x"))).rejects.toMatchObject({ code: "rate_limited" });
    await started.runtime().cancel(second.id, ALICE);
    expect((await send(started, say("x"))).status.state).toBe("input-required");
  });
});

describe("what one principal takes", () => {
  it("leaves room for others: tasks that wait", async () => {
    const started = await start("ask", { maxTasks: 8 });
    for (let n = 0; n < 6; n++) await send(started, say("x"));
    await expect(send(started, say("x"))).rejects.toMatchObject({
      code: "rate_limited",
      message: "You have 6 tasks under way or waiting already.",
    });
    for (let n = 0; n < 2; n++) await send(started, say("x"), BOB);
    await expect(send(started, say("x"), BOB)).rejects.toThrow("There are 8 tasks under way");
  });

  it("leaves room for others: work, which makes room again when it ends", async () => {
    const started = await start("flood", { maxRunning: 8, maxShare: 0.5 });
    const flood = async () => {
      const sent = Array.from({ length: 9 }, () => send(started, say("hello")));
      const settled = await Promise.allSettled(sent);
      return settled.filter(({ status }) => status === "fulfilled").length;
    };
    const [taken, ofBob] = await Promise.all([flood(), send(started, say("hello"), BOB)]);
    expect([taken, ofBob.status.state]).toEqual([4, "completed"]);
    expect(await flood()).toBe(4);
  });

  it("leaves room for others: bytes", async () => {
    const started = await start("ask", { maxTotalSize: 40_000, maxShare: 0.5 });
    await send(started, say("x".repeat(12_000)));
    await send(started, say("x".repeat(12_000)));
    await expect(send(started, say("x"))).rejects.toMatchObject({ code: "rate_limited" });
    expect((await send(started, say("x".repeat(8_000)), BOB)).status.state).toBe("input-required");
  });

  it("takes no room of results of others: the oldest of whoever has most goes", async () => {
    const started = await start("flood", { maxTasks: 10 });
    const { id } = await send(started, say("hello"), BOB);
    for (let n = 0; n < 30; n++) await send(started, say("hello"));
    expect(started.runtime().get(id, BOB).task.status.state).toBe("completed");
    expect(started.runtime().list({}, ALICE)).toHaveLength(9);
  });
});
