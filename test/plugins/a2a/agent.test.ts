import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import {
  textOf,
  type Message,
  type StreamEvent,
  type Task,
} from "../../../plugins/a2a/contract/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServer, Script } from "../../fixtures/model/types.ts";
import { ALICE, BOB, say, startRuntime, type TestRuntime } from "./kit.ts";

const tools = definePlugin({
  name: "tools",
  setup(gateway) {
    gateway.tool("add", {
      description: "Adds.",
      input: z.object({ a: z.number(), b: z.number() }),
      run({ a, b }, { progress }) {
        progress?.({ progress: 1, message: "adding" });
        return String(a + b);
      },
    });
  },
});

/** A runtime whose skill is an agent with a scripted model behind a real HTTP API. */
async function start(
  script: Script,
  options: Record<string, unknown> = {},
  skill: Record<string, unknown> = {},
): Promise<TestRuntime & { model: ModelServer }> {
  const model = await startModel({ script });
  onTestFinished(() => model.close());
  const runtime = await startRuntime({
    skills: [{ id: "work", agent: "worker", ...skill }],
    options,
    plugins: [
      tools,
      [
        agents,
        {
          providers: { scripted: { type: "openai-compatible", baseUrl: model.url } },
          model: "scripted/scripted",
          agents: { worker: { description: "Works.", servers: ["tools"] } },
        },
      ],
    ],
  });
  return { ...runtime, model };
}

async function send(
  { runtime }: TestRuntime,
  message: Message,
  principal = ALICE,
): Promise<{ task: Task; events: StreamEvent[] }> {
  const running = await runtime().send(message, { principal });
  const events: StreamEvent[] = [];
  running.watch((event) => events.push(event));
  return { task: await running.settled, events };
}

const words = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));

const said = (events: readonly StreamEvent[]): string[] =>
  events.flatMap((event) => {
    const update = "statusUpdate" in event ? event.statusUpdate : undefined;
    return update?.status.message ? [textOf(update.status.message.parts)] : [];
  });

const pieces = (events: readonly StreamEvent[]): string[] =>
  events.flatMap((event) => {
    const update = "artifactUpdate" in event ? event.artifactUpdate : undefined;
    return update ? [`${update.append === true ? "+" : "="}${textOf(update.artifact.parts)}`] : [];
  });

/** What a request told the model, as one text. */
const told = ({ requests }: ModelServer, at: number): string =>
  JSON.stringify(requests.at(at)!.body["messages"]);

describe("an agent", () => {
  it("R042: tells what it does and writes its answer while the model does", async () => {
    const runtime = await start(({ turn }) =>
      turn === 0
        ? { text: "Let me see.", calls: [{ name: "tools__add", args: { a: 1, b: 2 } }] }
        : { text: "It is 3." },
    );
    const { task, events } = await send(runtime, say("1 + 2?"));
    expect(task.status.state).toBe("completed");
    expect(words(task)).toBe("It is 3.");
    expect(said(events)).toEqual(["Let me see.", "tools/add", "adding"]);
    expect(pieces(events).filter((piece) => piece.startsWith("="))).toHaveLength(3);
    expect(pieces(events).at(-1)).toBe("=It is 3.");
  });

  it("R076: goes on with the conversation of the same context", async () => {
    const runtime = await start(({ text }) => ({ text: `heard ${text}` }));
    await send(runtime, say("my name is Ada", { contextId: "c-1" }));
    await send(runtime, say("who am I?", { contextId: "c-1" }));
    expect(told(runtime.model, -1)).toContain("my name is Ada");
    await send(runtime, say("and here?", { contextId: "c-2" }));
    expect(told(runtime.model, -1)).not.toContain("Ada");
  });

  it("T4: knows nothing of another's conversation, whatever context they name", async () => {
    const runtime = await start(({ text }) => ({ text: `heard ${text}` }));
    await send(runtime, say("my name is Ada", { contextId: "c-1" }));
    await send(runtime, say("who am I?", { contextId: "c-1" }), BOB);
    expect(told(runtime.model, -1)).not.toContain("Ada");
  });

  it("takes one message of a context at a time", async () => {
    const runtime = await start(({ text }) => ({ text: `heard ${text}` }));
    const texts = ["one", "two", "three"];
    await Promise.all(texts.map((text) => send(runtime, say(text, { contextId: "c-1" }))));
    expect(runtime.model.peak).toBe(1);
    for (const text of texts) expect(told(runtime.model, -1)).toContain(text);
  });

  it("asks for more, and goes on with the answer", async () => {
    const runtime = await start(({ text, turn }) =>
      text === "delete it" && turn === 0
        ? { calls: [{ name: "ask_user", args: { question: "Which file?" } }] }
        : { text: `deleted ${text}` },
    );
    const { task } = await send(runtime, say("delete it"));
    expect(task.status).toMatchObject({
      state: "input-required",
      message: { role: "agent", parts: [{ text: "Which file?" }] },
    });
    const { task: done } = await send(runtime, say("a.txt", { taskId: task.id }));
    expect(done).toMatchObject({ id: task.id, status: { state: "completed" } });
    expect(words(done)).toBe("deleted a.txt");
    expect(told(runtime.model, -1)).toContain("delete it");
    expect(done.history?.map(({ role, parts }) => [role, textOf(parts)])).toEqual([
      ["user", "delete it"],
      ["agent", "Which file?"],
      ["user", "a.txt"],
    ]);
  });

  it("R066: fails when its model does", async () => {
    const runtime = await start([{ status: 400, raw: '{"error":{"message":"no"}}' }]);
    const { task } = await send(runtime, say("hello"));
    expect(task.status.state).toBe("failed");
    expect(textOf((task.status.message as Message).parts)).not.toBe("");
  });

  it("is not asked about files that it cannot take", async () => {
    const runtime = await start(() => ({ text: "never" }));
    const parts = [{ raw: "YQ==", mediaType: "application/zip" }];
    const { task } = await send(runtime, { ...say(""), parts });
    expect(textOf((task.status.message as Message).parts)).toMatch(/does not accept files of type/);
    expect(runtime.model.requests).toEqual([]);
  });

  it("that is not in the config does not start", async () => {
    const starting = start([], {}, { agent: "nobody" });
    await expect(starting).rejects.toThrow('The skill "work" names no agent of the config.');
  });
});

describe("a long conversation", () => {
  const compaction = { maxTokens: 400, keepRatio: 0.4 };
  const long = (at: number): string => `${at}: ${"many words ".repeat(30)}`;
  const isSummary = (text: string): boolean => text.startsWith("Summarise this conversation");

  async function talk(runtime: TestRuntime, turns: number): Promise<Task> {
    let last: Task | undefined;
    for (let at = 1; at <= turns; at++)
      last = (await send(runtime, say(long(at), { contextId: "c-1" }))).task;
    return last!;
  }

  it("R075: is compacted to a summary by the agent's own model, and the task says so", async () => {
    const runtime = await start(
      ({ text }) => (isSummary(text) ? { text: "They said words." } : { text: "Yes." }),
      { sessions: { compaction } },
    );
    const task = await talk(runtime, 5);
    const { compaction: report } = task.metadata as { compaction: Record<string, never> };
    expect(report).toMatchObject({ compacted: true, method: "summary" });
    expect(report["after"]!["tokens"]).toBeLessThan(report["before"]!["tokens"]);
    expect(told(runtime.model, -1)).toContain("Summary of the conversation before this: They said");
    expect(told(runtime.model, -1)).not.toContain("1: many words");
    expect(told(runtime.model, -1)).toContain("5: many words");
  });

  it("R075: loses its oldest messages when there is no summary", async () => {
    const runtime = await start(
      ({ text }) =>
        isSummary(text)
          ? { calls: [{ name: "tools__add", args: { a: 1, b: 1 } }] }
          : { text: "Yes." },
      { sessions: { compaction } },
    );
    const task = await talk(runtime, 5);
    expect(task.status.state).toBe("completed");
    expect(task.metadata).toMatchObject({ compaction: { compacted: true, method: "trim" } });
    expect(told(runtime.model, -1)).toContain("were left out");
    expect(told(runtime.model, -1)).not.toContain("1: many words");
  });

  it("stays as it is where that is wanted", async () => {
    const runtime = await start(() => ({ text: "Yes." }), { sessions: { compaction: false } });
    const task = await talk(runtime, 5);
    expect(task.metadata).toEqual({ skill: "work" });
    expect(told(runtime.model, -1)).toContain("1: many words");
  });
});
