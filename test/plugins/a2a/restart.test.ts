import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { textOf, type Message, type Task } from "../../../plugins/a2a/contract/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServer, Script } from "../../fixtures/model/types.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, BOB, say, startRuntime, type TestRuntime } from "./kit.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

const DEPLOYS = Number(process.env["DEPLOYS"] ?? 2);

/** Gateways that follow each other on one store, with an agent whose model is scripted. */
async function createStage(
  script: Script,
): Promise<{ model: ModelServer; start(): Promise<TestRuntime>; cwd: string }> {
  const model = await startModel({ script });
  onTestFinished(() => model.close());
  const cwd = makeFolder();
  const start = (): Promise<TestRuntime> =>
    startRuntime({
      cwd,
      config: { store: "sqlite:./data/gateway.db" },
      skills: [{ id: "work", agent: "worker" }],
      options: { sessions: { compaction: false } },
      plugins: [
        [
          agents,
          {
            providers: { scripted: { type: "openai-compatible", baseUrl: model.url } },
            model: "scripted/scripted",
            agents: { worker: { description: "Works." } },
          },
        ],
      ],
    });
  return { model, start, cwd };
}

async function send(
  { runtime }: TestRuntime,
  message: Message,
  options: { readonly id?: string; readonly continues?: boolean } = {},
): Promise<Task> {
  return (await runtime().send(message, { principal: ALICE, ...options })).settled;
}

const words = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));
const reason = ({ status }: Task): string => textOf(status.message?.parts ?? []);
const told = ({ requests }: ModelServer): string =>
  JSON.stringify(requests.at(-1)!.body["messages"]);

const asking: Script = ({ text, turn }) =>
  text.startsWith("delete") && turn === 0
    ? {
        calls: [{ name: "ask_user", args: { question: "Really delete the production database?" } }],
      }
    : { text: `understood: ${text}` };

describe("behind a restart", () => {
  it("a task that ended is there, with its words, for its owner only", async () => {
    const stage = await createStage(({ text }) => ({ text: `heard ${text}` }));
    const first = await stage.start();
    const done = await send(first, say("hello"));
    await first.gateway.close();
    const { runtime } = await stage.start();
    expect(runtime().get(done.id, ALICE).task).toEqual(done);
    expect(runtime().list({}, ALICE)).toEqual([done]);
    expect(() => runtime().get(done.id, BOB)).toThrow("There is no such task.");
  });

  it("the same message starts nothing again", async () => {
    const stage = await createStage(({ text }) => ({ text: `heard ${text}` }));
    const first = await stage.start();
    const message = say("once");
    const done = await send(first, message, { id: "chosen" });
    await first.gateway.close();
    expect(await send(await stage.start(), message, { id: "chosen" })).toEqual(done);
    expect(stage.model.requests).toHaveLength(1);
  });

  it("an answer meets its question, and the model sees the whole conversation", async () => {
    const stage = await createStage(asking);
    const first = await stage.start();
    const task = await send(first, say("delete it all"));
    expect(task.status.state).toBe("input-required");
    await first.gateway.close();
    const done = await send(await stage.start(), say("no", { taskId: task.id }));
    expect(done).toMatchObject({ id: task.id, status: { state: "completed" } });
    expect(words(done)).toBe("understood: no");
    expect(told(stage.model)).toContain("delete it all");
    expect(told(stage.model)).toContain("Really delete the production database?");
  });

  it(
    `a conversation goes on over ${DEPLOYS} restarts, through A2A and through a tool`,
    { timeout: PATIENCE * (30_000 + DEPLOYS * 10_000) },
    async () => {
      const stage = await createStage(({ text }) => ({ text: `heard ${text}` }));
      let runtime = await stage.start();
      const ask = (message: string) =>
        runtime.gateway.call({ server: "a2a", name: "work", args: { message, contextId: "tool" } });
      const texts: string[] = [];
      for (let deploy = 1; deploy <= DEPLOYS; deploy++) {
        const text = `number ${deploy}.`;
        await send(runtime, say(text, { contextId: "c" }));
        await ask(text);
        texts.push(text);
        await runtime.gateway.close();
        runtime = await stage.start();
      }
      await send(runtime, say("the last", { contextId: "c" }));
      const overA2a = told(stage.model);
      await ask("the last");
      const overTool = told(stage.model);
      for (const text of texts) {
        expect(overA2a).toContain(`heard ${text}`);
        expect(overTool).toContain(`heard ${text}`);
      }
    },
  );

  it("work that the shutdown ended has failed, and says why", async () => {
    const until = deferred();
    const stage = await createStage(() => ({ text: "late", until: until.promise }));
    const first = await stage.start();
    const running = await first.runtime().send(say("long work"), { principal: ALICE });
    await first.gateway.close({ grace: 0 });
    until.resolve();
    const { runtime } = await stage.start();
    const { task } = runtime().get(running.id, ALICE);
    expect(task.status.state).toBe("failed");
    expect(reason(task)).toBe("canceled by shutdown");
  });

  it("an answer to a task of which nothing is left fails, and no model is asked", async () => {
    const stage = await createStage(asking);
    const first = await stage.start();
    const task = await send(first, say("delete it all", { taskId: "t" }), { id: "t" });
    expect(task.status.state).toBe("input-required");
    await first.gateway.close();
    await rm(join(stage.cwd, "data"), { recursive: true });
    const asked = stage.model.requests.length;
    const answer = send(await stage.start(), say("no", { taskId: "t" }), {
      id: "t",
      continues: true,
    });
    await expect(answer).rejects.toMatchObject({ code: "not_found" });
    expect(stage.model.requests).toHaveLength(asked);
  });
});
