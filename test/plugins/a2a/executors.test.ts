import { realpath } from "node:fs/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  textOf,
  type Message,
  type StreamEvent,
  type Task,
} from "../../../plugins/a2a/contract/index.ts";
import type { RunningTask } from "../../../plugins/a2a/service.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, BOB, say, startRuntime, type TestRuntime } from "./kit.ts";

const NODE = process.execPath;

const words = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));

const reason = ({ status }: Task): string => textOf((status.message as Message).parts);

async function send(
  { runtime }: TestRuntime,
  message: Message,
): Promise<{ task: Task; events: StreamEvent[] }> {
  const running: RunningTask = await runtime().send(message, { principal: ALICE });
  const events: StreamEvent[] = [];
  running.watch((event) => events.push(event));
  return { task: await running.settled, events };
}

/** Texts of the status messages on the way. */
const said = (events: readonly StreamEvent[]): string[] =>
  events.flatMap((event) => {
    const { message } = (event as { statusUpdate?: { status: { message?: Message } } }).statusUpdate
      ?.status ?? { message: undefined };
    return message ? [textOf(message.parts)] : [];
  });

/** Pieces of artifacts, as they came. */
const pieces = (events: readonly StreamEvent[]): unknown[] =>
  events.flatMap((event) =>
    "artifactUpdate" in event
      ? [
          {
            ...event.artifactUpdate,
            taskId: undefined,
            contextId: undefined,
          },
        ]
      : [],
  );

describe("a command", () => {
  it("R048, R053: gets the text as its input and writes the artifact, in the work directory", async () => {
    const workDir = await realpath(makeFolder());
    const program = `
      process.stdin.setEncoding("utf8").on("data", (text) => (all += text)).on("end", () => {
        console.log(JSON.stringify({ all, cwd: process.cwd(), dir: process.env.WORK_DIR, task: process.env.TASK_ID,
          context: process.env.CONTEXT_ID, trace: process.env.TRACEPARENT }));
      });
      let all = "";`;
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program] }],
      options: { workDir },
    });
    const message = say("grüße", { contextId: "c-1" });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const running = await runtime
      .runtime()
      .send(message, { principal: ALICE, meta: { traceparent } });
    const task = await running.settled;
    expect(JSON.parse(words(task))).toEqual({
      all: "grüße",
      cwd: workDir,
      dir: workDir,
      task: task.id,
      context: "c-1",
      trace: traceparent,
    });
  });

  it.each([
    ["a\nPATH=/tmp", "a%0APATH=/tmp"],
    ["a\u0000b", "a%00b"],
    ["a\r\u001b[2J\u007f\tb", "a%0D%1B[2J%7F%09b"],
    ["grüße %0A", "grüße %0A"],
  ])("S4: control characters of ids do not reach its variables: %j", async (id, seen) => {
    const program =
      "console.log(JSON.stringify([process.env.CONTEXT_ID, process.env.TASK_ID, process.env.PATH]))";
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program] }],
      options: { workDir: makeFolder() },
    });
    const message = say("go", { contextId: id });
    const running = await runtime.runtime().send(message, { principal: ALICE, id });
    expect(JSON.parse(words(await running.settled))).toEqual([seen, seen, process.env["PATH"]]);
  });

  it("R049: sees GITHUB_TOKEN when it is set, and nothing that it was not given", async () => {
    vi.stubEnv("GITHUB_TOKEN", "ghp_secret");
    vi.stubEnv("A2A_TEST_SECRET", "hidden");
    vi.stubEnv("A2A_TEST_GIVEN", "given");
    onTestFinished(() => void vi.unstubAllEnvs());
    const program =
      "const { GITHUB_TOKEN, A2A_TEST_SECRET = null, A2A_TEST_GIVEN } = process.env; console.log(JSON.stringify({ GITHUB_TOKEN, A2A_TEST_SECRET, A2A_TEST_GIVEN }))";
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program], env: ["A2A_TEST_GIVEN"] }],
      options: { workDir: makeFolder() },
    });
    const { task } = await send(runtime, say("go"));
    expect(JSON.parse(words(task))).toEqual({
      GITHUB_TOKEN: "ghp_secret",
      A2A_TEST_SECRET: null,
      A2A_TEST_GIVEN: "given",
    });
  });

  it("R025: fails with the last words of a program, without its token", async () => {
    vi.stubEnv("GITHUB_TOKEN", "ghp_secret");
    onTestFinished(() => void vi.unstubAllEnvs());
    const program = "console.error('no access with ' + process.env.GITHUB_TOKEN); process.exit(3)";
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program] }],
      options: { workDir: makeFolder() },
    });
    const { task } = await send(runtime, say("go"));
    expect(task.status.state).toBe("failed");
    expect(reason(task)).toBe("node exited with 3:\nno access with [GITHUB_TOKEN]");
  });

  it("is streamed while it runs, as whole characters", async () => {
    const program = `
      const bytes = Buffer.from("é");
      process.stdout.write(bytes.subarray(0, 1));
      setTimeout(() => { process.stdout.write(bytes.subarray(1)); }, 50);`;
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program] }],
      options: { workDir: makeFolder() },
    });
    const { task, events } = await send(runtime, say("go"));
    expect(words(task)).toBe("é");
    expect(pieces(events)).toEqual([
      { artifact: { artifactId: "result", parts: [{ text: "é" }] }, append: false },
      { artifact: { artifactId: "result", parts: [{ text: "é" }] }, lastChunk: true },
    ]);
  });

  it("is not read by a shell, and one that cannot be started fails", async () => {
    const runtime = await startRuntime({
      skills: [
        { id: "echo", command: [NODE, "-e", "console.log(process.argv[1])", "$(id); `id`"] },
        { id: "missing", command: ["there-is-no-such-program"] },
      ],
      options: { workDir: makeFolder() },
    });
    expect(words((await send(runtime, say("go"))).task)).toBe("$(id); `id`\n");
    const { task } = await send(runtime, say("go", { metadata: { skill: "missing" } }));
    expect(reason(task)).toMatch(/"there-is-no-such-program" was not found/);
  });

  it("that writes too much is ended and fails", async () => {
    const program = "setInterval(() => process.stdout.write('x'.repeat(1000)), 1)";
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program], maxOutput: 5_000 }],
      options: { workDir: makeFolder() },
    });
    const { task } = await send(runtime, say("go"));
    expect(reason(task)).toMatch(/wrote more than 5000 bytes/);
    expect(words(task)).toHaveLength(5_000);
  });

  it("is killed with all that it started when its task is canceled", async () => {
    const child =
      "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log(process.pid)";
    const program = `
      process.on("SIGTERM", () => {});
      require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" });
      setInterval(() => {}, 1000);`;
    const runtime = await startRuntime({
      skills: [{ id: "run", command: [NODE, "-e", program] }],
      options: { workDir: makeFolder() },
    });
    const running = await runtime.runtime().send(say("go"), { principal: ALICE });
    await expect.poll(() => words(running.task)).toMatch(/\d+\n/);
    const pid = Number(words(running.task));
    const task = await runtime.runtime().cancel(running.id, ALICE);
    expect(task.status.state).toBe("canceled");
    expect(isAlive(pid)).toBe(false);
  });

  it("R048: does not start without a work directory that can be written to", async () => {
    const starting = startRuntime({
      skills: [{ id: "run", command: ["true"] }],
      options: { workDir: "./there-is-none" },
    });
    await expect(starting).rejects.toThrow(/work directory .* does not exist/);
  });
});

const CODE = `
export default {
  description: "Does what it is told.",
  async run(task) {
    const { text } = task;
    if (text === "stream") { task.write("a"); task.write("b"); return; }
    if (text === "ask") return task.ask("Which one?");
    if (text === "reject") return task.reject("Not my job.");
    if (text === "reply") return task.reply("Hello.");
    if (text === "throw") throw new Error("a secret");
    if (text === "file") return task.artifact({ artifactId: "f", name: "a file", parts: [{ raw: "YQ==", mediaType: "image/png" }] });
    if (text === "call") return String((await task.call("a2a", "other", { message: "x" })).result.content[0].text);
    task.status("counting");
    return "got " + text + " after " + task.history.map(({ parts }) => parts[0].text).join("|");
  },
};`;

describe("a function", () => {
  const start = async (): Promise<TestRuntime> =>
    startRuntime({
      cwd: makeFolder({
        "skill.mjs": CODE,
        "other.mjs": "export default { run: ({ text }) => 'other ' + text };",
      }),
      skills: [
        { id: "skill", function: "./skill.mjs" },
        { id: "other", function: "./other.mjs" },
      ],
    });

  it("R024, R065: answers with text, pieces, files, or just a message, always as an artifact", async () => {
    const runtime = await start();
    expect(words((await send(runtime, say("hi"))).task)).toBe("got hi after ");
    expect(words((await send(runtime, say("stream"))).task)).toBe("ab");
    const { artifacts } = (await send(runtime, say("file"))).task;
    expect(artifacts).toEqual([
      { artifactId: "f", name: "a file", parts: [{ raw: "YQ==", mediaType: "image/png" }] },
    ]);
    const running = await runtime.runtime().send(say("reply"), { principal: ALICE });
    expect(words(await running.settled)).toBe("Hello.");
    expect(running.reply).toMatchObject({ role: "agent", parts: [{ text: "Hello." }] });
  });

  it("R023: asks for more, and goes on with the answer", async () => {
    const runtime = await start();
    const { task } = await send(runtime, say("ask"));
    expect(task.status.state).toBe("input-required");
    expect(reason(task)).toBe("Which one?");
    const answer = say("this one", { taskId: task.id });
    const { task: done, events } = await send(runtime, answer);
    expect(events[0]).toMatchObject({ task: { status: { state: "working" } } });
    expect(done).toMatchObject({ id: task.id, status: { state: "completed" } });
    expect(words(done)).toBe("got this one after ask|Which one?");
  });

  it("R066: says why it failed, was rejected, and nothing of what a bug says", async () => {
    const runtime = await start();
    expect((await send(runtime, say("reject"))).task.status).toMatchObject({
      state: "rejected",
      message: { parts: [{ text: "Not my job." }] },
    });
    const { task } = await send(runtime, say("throw"));
    expect(task.status.state).toBe("failed");
    expect(reason(task)).toBe('Tool "skill" failed.');
  });

  it("calls tools on behalf of its principal", async () => {
    expect(words((await send(await start(), say("call"))).task)).toBe("other x");
  });

  it("is a tool for MCP clients as well", async () => {
    const runtime = await startRuntime({
      client: true,
      cwd: makeFolder({ "skill.mjs": CODE }),
      skills: [{ id: "skill", function: "./skill.mjs" }],
    });
    const { tools } = await runtime.client.listTools();
    const tool = tools.find(({ name }) => name.endsWith("skill"))!;
    expect(tool.description).toBe("Does what it is told.");
    const progress: unknown[] = [];
    const result = await runtime.client.callTool(
      { name: tool.name, arguments: { message: "hi" } },
      undefined,
      { onprogress: ({ message }) => progress.push(message) },
    );
    expect(result.content).toEqual([{ type: "text", text: "got hi after " }]);
    expect(progress).toEqual(["counting"]);
    const asked = await runtime.client.callTool({
      name: tool.name,
      arguments: { message: "ask" },
    });
    expect(asked.content).toEqual([{ type: "text", text: "Which one?" }]);
    expect(runtime.runtime().list({}, BOB)).toEqual([]);
  });

  it("that is none does not start", async () => {
    const cwd = makeFolder({ "skill.mjs": "export default 1;" });
    const starting = startRuntime({ cwd, skills: [{ id: "skill", function: "./skill.mjs" }] });
    await expect(starting).rejects.toThrow("./skill.mjs does not export a skill.");
  });

  it("tells what it is doing", async () => {
    const { events } = await send(await start(), say("hi"));
    expect(said(events)).toEqual(["counting"]);
  });
});
