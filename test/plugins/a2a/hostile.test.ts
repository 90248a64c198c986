import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { Authenticators } from "../../../core/kit.ts";
import { textOf, type Task } from "../../../plugins/a2a/contract/index.ts";
import { toolSkill } from "../../../plugins/a2a/executors/tool.ts";
import { skillOptionsSchema } from "../../../plugins/a2a/options.ts";
import type { Work } from "../../../plugins/a2a/tasks/task/work.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { messageOf } from "../a2a-contract/kit.ts";
import { ALICE, say, startRuntime } from "./kit.ts";

const NODE = process.execPath;
const MIB = 1_048_576;

const reason = ({ status }: Task): string => textOf(status.message?.parts ?? []);

/** What a program says to its client when it fails. */
async function complaintOf(program: string, env: string[] = []): Promise<string> {
  const runtime = await startRuntime({
    skills: [{ id: "run", command: [NODE, "-e", program], env }],
    options: { workDir: makeFolder() },
  });
  return reason(await (await runtime.runtime().send(say("go"), { principal: ALICE })).settled);
}

describe("the last words of a program", () => {
  it("R049: hold no value of a variable that it was given by name", async () => {
    vi.stubEnv("A2A_TEST_KEY", "sk-0123456789");
    vi.stubEnv("A2A_TEST_MODE", "on");
    onTestFinished(() => void vi.unstubAllEnvs());
    const program = "console.error('on: key ' + process.env.A2A_TEST_KEY); process.exit(1)";
    const words = await complaintOf(program, ["A2A_TEST_KEY", "A2A_TEST_MODE"]);
    expect(words).toContain("on: key [A2A_TEST_KEY]");
  });

  it("R049: hold no half of one either, where they were cut", async () => {
    vi.stubEnv("A2A_TEST_KEY", "s".repeat(100));
    onTestFinished(() => void vi.unstubAllEnvs());
    const program = "console.error(process.env.A2A_TEST_KEY + '.'.repeat(1949)); process.exit(1)";
    const words = await complaintOf(program, ["A2A_TEST_KEY"]);
    expect(words).not.toMatch(/ss/);
    expect(words).toContain(".".repeat(1_949));
  });

  it("speak of the skill when it cannot be started", async () => {
    const runtime = await startRuntime({
      skills: [{ id: "run", command: ["no-such-program"] }],
      options: { workDir: makeFolder() },
    });
    const running = await runtime.runtime().send(say("go"), { principal: ALICE });
    expect(reason(await running.settled)).toMatch(/^Skill "run" cannot start: command "no-such/);
  });
});

it("T13: a member __proto__ of a message is an argument by that name, and no prototype", () => {
  const options = skillOptionsSchema.parse({ id: "t", tool: { server: "s", name: "n" } });
  const skill = toolSkill(options, { servers: new Map(), exists: () => true, shows: () => true });
  const data: unknown = JSON.parse('{"__proto__":{"isAdmin":true}}');
  const { args } = skill.target({ message: say("", { parts: [{ data }] }) } as Work);
  expect(Object.keys(args)).toEqual(["__proto__"]);
  expect(args["isAdmin"]).toBeUndefined();
});

/** Does something so many turns of microtasks later. */
async function inTurns(turns: number, work: () => void): Promise<void> {
  for (let n = turns; n > 0; n--) await Promise.resolve();
  work();
}

it("a cancel ends the task, whenever it comes: also in the moment when the task asks", async () => {
  const cwd = makeFolder({
    "ask.mjs": `export default { run({ ask }) { ask("What?"); } };`,
  });
  const { runtime } = await startRuntime({ cwd, skills: [{ id: "ask", function: "./ask.mjs" }] });
  // The call is over some turns of microtasks before the task is: that gap is what is looked for.
  for (let turns = 0; turns < 150; turns++) {
    const running = await runtime().send(say("go"), { principal: ALICE });
    const cancelled = deferred<{ readonly task: Promise<Task> }>();
    const stop = running.watch((event) => {
      if (!("statusUpdate" in event)) return;
      stop();
      void inTurns(turns, () => cancelled.resolve({ task: runtime().cancel(running.id, ALICE) }));
    });
    expect((await (await cancelled.promise).task).status.state).toBe("canceled");
  }
});

/** Sends a request and reads nothing of what comes. */
async function stall(url: string, head: string[], body: string): Promise<Socket> {
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.pause().on("error", () => {});
  const lines = ["POST / HTTP/1.1", `host: 127.0.0.1:${port}`, "content-type: application/json"];
  const length = `content-length: ${Buffer.byteLength(body)}`;
  socket.write([...lines, ...head, length, "", body].join("\r\n"));
  return socket;
}

const RPC_STREAM = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "SendStreamingMessage",
  params: { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] } },
});

it.each([
  ["contract v1", { accept: "text/event-stream" }, messageOf("hello")],
  ["A2A 1.0", { "a2a-version": "1.0" }, RPC_STREAM],
])("a stream ends with the token that opened it: %s", async (_, head, body) => {
  const short = definePlugin({
    name: "short",
    setup: (gateway) =>
      gateway.add(Authenticators, {
        name: "short",
        authenticate: () => ({
          id: "eve",
          kind: "user",
          roles: new Set(["caller"] as const),
          expiresAt: Date.now() + 300,
        }),
      }),
  });
  const cwd = makeFolder({
    "wait.mjs": `import { once } from "node:events";
      export default { async run({ signal }) { if (!signal.aborted) await once(signal, "abort"); } };`,
  });
  const skills = [{ id: "wait", function: "./wait.mjs" }];
  const { url } = await startRuntime({ cwd, skills, plugins: [short] });
  const headers = { "content-type": "application/json", ...head };
  const answer = await fetch(url, { method: "POST", headers, body });
  expect(await answer.text()).toContain("The token has expired.");
});

describe("a reader that stalls", () => {
  it.each([
    ["contract v1", ["accept: text/event-stream"], messageOf("hello"), 40],
    ["A2A 1.0", ["a2a-version: 1.0"], RPC_STREAM, 16],
  ])("holds a bounded amount of what it is told: %s", async (_, head, body, most) => {
    const cwd = makeFolder({
      "flood.mjs": `import { setImmediate as turn } from "node:timers/promises";
        export default { async run({ artifact, signal }) {
          const text = "x".repeat(${MIB});
          for (let n = 0; n < 100 && !signal.aborted; n++) { artifact({ parts: [{ text }] }); await turn(); }
        } };`,
    });
    const skills = [{ id: "flood", function: "./flood.mjs" }];
    const { url, gateway } = await startRuntime({ cwd, skills });
    const socket = await stall(url, head, body);
    const ends = /a2a_tasks_total\{skill="flood",state="(?:completed|canceled)"\} 1/;
    await expect.poll(async () => (await gateway.manage()).metrics()).toMatch(ends);
    // Whatever was kept for it comes now.
    let size = 0;
    socket.on("data", (chunk: Buffer) => (size += chunk.length)).resume();
    const closing = once(socket, "close");
    await gateway.close({ grace: 100 });
    await closing;
    expect(size).toBeLessThan(most * MIB);
  });
});
