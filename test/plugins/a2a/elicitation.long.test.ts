import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { textOf, type Message, type Part, type Task } from "../../../plugins/a2a/contract/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, BOB, say, startRuntime, statesIn, type TestRuntime } from "./kit.ts";

const upstream = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/upstreams/${name}.mjs`, import.meta.url));

/** One that asks in the middle of a call, and one that asks in place of an answer (2026-07-28). */
const SERVERS = {
  legacy: { command: process.execPath, args: [upstream("legacy"), "stdio"], timeout: "30s" },
  modern: { command: process.execPath, args: [upstream("modern"), "stdio"], timeout: "30s" },
};

interface Setup {
  readonly server?: keyof typeof SERVERS;
  readonly skills: readonly Readonly<Record<string, unknown>>[];
  readonly tasks?: Readonly<Record<string, unknown>>;
  readonly timeout?: string;
  readonly rest?: Partial<Parameters<typeof startRuntime>[0]>;
}

async function start({ server = "legacy", skills, tasks, timeout, rest }: Setup) {
  const entry = { ...SERVERS[server], ...(timeout !== undefined && { timeout }) };
  const runtime = await startRuntime({
    skills,
    config: { listeners: { main: { port: 0 } }, servers: { real: entry } },
    ...(tasks && { options: { tasks } }),
    ...rest,
  });
  const state = (): unknown => runtime.gateway.servers.get("real")?.status.state;
  await expect.poll(state).toBe("ready");
  return runtime;
}

/** A skill that is a tool of the server. */
const tool = (name: string): Record<string, unknown> => ({
  id: name,
  tool: { server: "real", name },
});

const ASKS = "test_elicitation_sep1034_defaults";
const FORM = { data: { username: "Ada", email: "ada@example.com" } };

async function send({ runtime }: TestRuntime, message: Message, skill?: string): Promise<Task> {
  const running = await runtime().send(message, { principal: ALICE, skill });
  return running.settled;
}

const asked = ({ status }: Task): readonly Part[] => (status.message as Message).parts;
const said = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));

describe("a tool that asks in the middle of its call", () => {
  it("has the task wait with its question, and goes on with the next message", async () => {
    const runtime = await start({ skills: [tool("test_elicitation")] });
    const waiting = await send(runtime, say("Who are you?"));
    expect(waiting.status.state).toBe("input-required");
    expect(asked(waiting)).toEqual([
      { text: "Who are you?" },
      { data: expect.objectContaining({ type: "object" }), mediaType: "application/schema+json" },
    ]);
    const answer = say("", { taskId: waiting.id, parts: [FORM] });
    const done = await send(runtime, answer);
    expect(done.status.state).toBe("completed");
    expect(said(done)).toContain('action: accept, content: {"username":"Ada"');
    expect(done.history!.map(({ role }) => role)).toEqual(["user", "agent", "user"]);
    // The answer again meets the task, as any message does.
    expect((await send(runtime, answer)).status.state).toBe("completed");
  });

  it("asks again until the answer fits", async () => {
    const runtime = await start({ skills: [tool("test_elicitation")] });
    const { id: taskId } = await send(runtime, say("Who are you?"));
    const again = await send(runtime, say("Ada", { taskId }));
    expect(again.status.state).toBe("input-required");
    expect(textOf(asked(again))).toBe("The answer must be data with username, email. Who are you?");
    const third = await send(runtime, say("", { taskId, parts: [{ data: { username: "Ada" } }] }));
    expect(textOf(asked(third))).toBe("email is missing in the answer. Who are you?");
    expect((await send(runtime, say("decline", { taskId }))).status.state).toBe("completed");
  });

  it("is told decline and cancel", async () => {
    const runtime = await start({ skills: [tool(ASKS)] });
    for (const action of ["decline", "cancel"]) {
      const { id: taskId } = await send(runtime, say("", { parts: [{ data: {} }] }));
      expect(said(await send(runtime, say(action, { taskId })))).toContain(`action=${action}`);
    }
  });

  it("T4: is answered by nobody but the one who was asked", async () => {
    const runtime = await start({ skills: [tool(ASKS)] });
    const { id } = await send(runtime, say("", { parts: [{ data: {} }] }));
    const stranger = runtime.runtime().send(say("decline", { taskId: id }), { principal: BOB });
    await expect(stranger).rejects.toMatchObject({ code: "not_found" });
    expect(runtime.runtime().get(id, ALICE).task.status.state).toBe("input-required");
  });

  it("ends with the task when that is cancelled, and takes no answer then", async () => {
    const runtime = await start({ skills: [tool(ASKS), tool("test_simple_text")] });
    const { id } = await send(runtime, say("", { parts: [{ data: {} }] }), ASKS);
    const events: string[] = [];
    runtime.runtime().watchAll((_task, event) => void events.push(...statesIn([event])));
    const cancelled = await runtime.runtime().cancel(id, ALICE);
    expect([cancelled.status.state, ...events]).toEqual(["canceled", "canceled"]);
    const late = runtime.runtime().send(say("decline", { taskId: id }), { principal: ALICE });
    await expect(late).rejects.toMatchObject({ code: "exists" });
    // The server is told. Until it has heard, a question could still be the cancelled call's; behind another answer it has.
    const plain = await send(runtime, say("", { parts: [{ data: {} }] }), "test_simple_text");
    expect(plain.status.state).toBe("completed");
    const next = await send(runtime, say("", { parts: [{ data: {} }] }), ASKS);
    expect(next.status.state).toBe("input-required");
  });

  it("fails the task when the call takes too long, or the answer does", async () => {
    const slow = await start({ skills: [tool(ASKS)], timeout: "300ms" });
    const { id } = await send(slow, say("", { parts: [{ data: {} }] }));
    const taskOf = (): Task => slow.runtime().get(id, ALICE).task;
    await expect.poll(() => taskOf().status.state).toBe("failed");
    expect(taskOf().metadata).toMatchObject({ code: "timeout" });
    const aged = await start({ skills: [tool(ASKS)], tasks: { ttl: "300ms" } });
    const waiting = await send(aged, say("", { parts: [{ data: {} }] }));
    const running = aged.runtime().get(waiting.id, ALICE);
    await expect.poll(() => running.task.status.state).toBe("failed");
    expect(textOf(asked(running.task))).toBe("No answer came in time.");
  });

  it("C43: does not hold up a shutdown, whose end its task says", async () => {
    const runtime = await start({ skills: [tool(ASKS)] });
    const { id } = await send(runtime, say("", { parts: [{ data: {} }] }));
    const running = runtime.runtime().get(id, ALICE);
    await runtime.gateway.close({ grace: 20_000 });
    expect(running.task.status.state).toBe("failed");
    expect(textOf(asked(running.task))).toBe("canceled by shutdown");
  });

  it("may not, where the skill does not let it", async () => {
    const runtime = await start({ skills: [{ ...tool(ASKS), asks: false }] });
    const task = await send(runtime, say("", { parts: [{ data: {} }] }));
    expect(task.status.state).toBe("failed");
    expect(textOf(asked(task))).toContain("The skill of this task may not ask.");
  });

  it("cannot ask for the model of the sender", async () => {
    const runtime = await start({ skills: [tool("test_missing_capability")] });
    const task = await send(runtime, say("", { parts: [{ data: {} }] }));
    expect(task.status.state).toBe("failed");
    expect(textOf(asked(task))).toContain("Nobody can answer sampling/createMessage in a task.");
  });
});

describe("a tool that asks in place of an answer", () => {
  it("is called again with the answer, as often as it asks", async () => {
    const name = "test_input_required_result_multi_round";
    const runtime = await start({ server: "modern", skills: [tool(name)] });
    const first = await send(runtime, say("", { parts: [{ data: {} }] }));
    expect(textOf(asked(first))).toBe("Step 1: What is your name?");
    const second = await send(runtime, say("Ada", { taskId: first.id }));
    expect(second.status.state).toBe("input-required");
    expect(textOf(asked(second))).toBe("Step 2: What is your favorite color?");
    expect(said(await send(runtime, say("blue", { taskId: first.id })))).toBe("Ada likes blue.");
  });

  it("takes no place among the tasks at work while it waits", async () => {
    const name = "test_input_required_result_elicitation";
    const tasks = { maxRunning: 1 };
    const runtime = await start({ server: "modern", skills: [tool(name)], tasks });
    const first = await send(runtime, say("", { parts: [{ data: {} }] }));
    const second = await send(runtime, say("", { parts: [{ data: {} }] }));
    expect([first.status.state, second.status.state]).toEqual(["input-required", "input-required"]);
    for (const { id: taskId } of [first, second])
      expect(said(await send(runtime, say("Ada", { taskId })))).toBe("Hello, Ada!");
  });

  it("is told that a form can be asked, and nothing else", async () => {
    const name = "test_input_required_result_capabilities";
    const runtime = await start({ server: "modern", skills: [tool(name)] });
    const { id: taskId } = await send(runtime, say("", { parts: [{ data: {} }] }));
    expect(said(await send(runtime, say("decline", { taskId })))).toBe("Got form");
  });
});

describe("a tool that a skill calls", () => {
  it("asks the sender of the message, one question after the other", async () => {
    const cwd = makeFolder({
      "two.mjs": `export default { async run({ call }) {
        const answers = await Promise.all([call("real", "${ASKS}"), call("real", "${ASKS}")]);
        return answers.map(({ result }) => result.content[0].text).join("\\n");
      } };`,
    });
    const runtime = await start({ skills: [{ id: "two", function: "./two.mjs" }], rest: { cwd } });
    const { id: taskId } = await send(runtime, say("go"));
    const second = await send(runtime, say("decline", { taskId }));
    expect(second.status.state).toBe("input-required");
    const done = await send(runtime, say("cancel", { taskId }));
    expect(said(done)).toMatch(/action=decline[^]*action=cancel/);
  });

  it("that is a skill itself works on its own, and not on the task of its caller", async () => {
    const cwd = makeFolder({
      "outer.mjs": `export default { async run({ call }) {
        return (await call("a2a", "inner", { message: "x" })).result.content[0].text;
      } };`,
      "inner.mjs": `export default { run: ({ taskId, text }) => taskId + " " + text };`,
    });
    const skills = [
      { id: "outer", function: "./outer.mjs" },
      { id: "inner", function: "./inner.mjs" },
    ];
    const runtime = await start({ skills, rest: { cwd } });
    const task = await send(runtime, say("go"));
    expect(said(task)).toMatch(/ x$/);
    expect(said(task)).not.toContain(task.id);
  });

  it("by an agent asks the sender too", async () => {
    const model = await startModel({
      script: ({ tools, turn, results }) =>
        turn === 0
          ? { calls: [{ name: tools.find(({ name }) => name.includes(ASKS))!.name, args: {} }] }
          : { text: results.join() },
    });
    onTestFinished(() => model.close());
    const options = {
      providers: { scripted: { type: "openai-compatible", baseUrl: model.url } },
      model: "scripted/scripted",
      agents: { worker: { description: "Works.", servers: ["real"] } },
    };
    const skills = [{ id: "work", agent: "worker" }];
    const runtime = await start({ skills, rest: { plugins: [[agents, options]] } });
    const waiting = await send(runtime, say("go"));
    expect(waiting.status.state).toBe("input-required");
    expect(textOf(asked(waiting))).toBe("Please fill in the form");
    const answer = say("", { taskId: waiting.id, parts: [{ data: { name: "Ada" } }] });
    expect(said(await send(runtime, answer))).toContain("action=accept");
  });
});

describe("many tasks at once", () => {
  it("T5: each get the answer that is theirs, in whatever order answers come", async () => {
    const name = "test_input_required_result_elicitation";
    const runtime = await start({ server: "modern", skills: [tool(name)] });
    const names = Array.from({ length: 30 }, (_, index) => `guest-${index}`);
    const waiting = await Promise.all(
      names.map(async (guest) => ({
        guest,
        taskId: (await send(runtime, say("", { parts: [{ data: {} }] }))).id,
      })),
    );
    const greetings = await Promise.all(
      waiting
        .toReversed()
        .map(async ({ guest, taskId }) => said(await send(runtime, say(guest, { taskId })))),
    );
    expect(greetings).toEqual(names.toReversed().map((guest) => `Hello, ${guest}!`));
  });

  it("two answers at once: one is taken", async () => {
    const runtime = await start({ skills: [tool(ASKS)] });
    const { id: taskId } = await send(runtime, say("", { parts: [{ data: {} }] }));
    const answers = [say("decline", { taskId }), say("cancel", { taskId })];
    const outcomes = await Promise.allSettled(answers.map((answer) => send(runtime, answer)));
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: { status: { state: "completed" } } },
      { status: "rejected", reason: { code: "exists" } },
    ]);
  });

  it("an answer and a cancel at once: the task ends, as one of the two", async () => {
    const runtime = await start({ skills: [tool(ASKS)] });
    const { id: taskId } = await send(runtime, say("", { parts: [{ data: {} }] }));
    const [answered, cancelled] = await Promise.allSettled([
      send(runtime, say("decline", { taskId })),
      runtime.runtime().cancel(taskId, ALICE),
    ]);
    expect(answered).toMatchObject({ value: { status: { state: "canceled" } } });
    expect(cancelled).toMatchObject({ value: { status: { state: "canceled" } } });
  });
});

it("a task ends with whoever gave the answer and would not come back for it", async () => {
  const cwd = makeFolder({
    "stay.mjs": `export default { async run({ call, signal, status }) {
      await call("real", "${ASKS}");
      status("staying");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    } };`,
  });
  const runtime = await start({ skills: [{ id: "stay", function: "./stay.mjs" }], rest: { cwd } });
  const { id: taskId } = await send(runtime, say("go"));
  const client = new AbortController();
  const { signal } = client;
  const answer = say("decline", { taskId });
  const running = await runtime.runtime().send(answer, { principal: ALICE, signal });
  const word = (): string => textOf(running.task.status.message?.parts ?? []);
  await expect.poll(word).toBe("staying");
  client.abort();
  expect((await running.settled).status.state).toBe("canceled");
});

it("R023: contract v1 answers with the question, and takes the answer with the same id", async () => {
  const runtime = await start({ skills: [tool("test_elicitation")] });
  const post = async (message: object): Promise<Task> => {
    const body = JSON.stringify({ message: { role: "user", ...message } });
    const headers = { "content-type": "application/json" };
    return (await (await fetch(runtime.url, { method: "POST", headers, body })).json()) as Task;
  };
  const waiting = await post({ messageId: "m1", taskId: "t", parts: [{ text: "Who?" }] });
  expect(waiting).toMatchObject({ id: "t", status: { state: "input-required" } });
  const done = await post({ messageId: "m2", taskId: "t", parts: [FORM] });
  expect(done).toMatchObject({ id: "t", status: { state: "completed" } });
});
