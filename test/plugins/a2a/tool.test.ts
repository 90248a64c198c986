import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  textOf,
  type Message,
  type Part,
  type StreamEvent,
  type Task,
} from "../../../plugins/a2a/contract/index.ts";
import { resultParts } from "../../../plugins/a2a/tasks/task/turn.ts";
import { ALICE, say, startRuntime, type TestRuntime } from "./kit.ts";

const MODERN = fileURLToPath(new URL("../../fixtures/upstreams/modern.mjs", import.meta.url));

/** A runtime whose skills are tools of a real MCP server in a process of its own. */
async function start(...tools: readonly string[]): Promise<TestRuntime> {
  const runtime = await startRuntime({
    skills: tools.map((name) => ({ id: name, tool: { server: "real", name } })),
    config: {
      listeners: { main: { port: 0 } },
      servers: { real: { command: process.execPath, args: [MODERN, "stdio"] } },
    },
  });
  const state = (): unknown => runtime.gateway.servers.get("real")?.status.state;
  await expect.poll(state).toBe("ready");
  return runtime;
}

async function send(
  { runtime }: TestRuntime,
  skill: string,
  message: Message = say(""),
): Promise<{ task: Task; events: StreamEvent[] }> {
  const running = await runtime().send(message, { principal: ALICE, skill });
  const events: StreamEvent[] = [];
  running.watch((event) => events.push(event));
  return { task: await running.settled, events };
}

const partsIn = ({ artifacts = [] }: Task): Part[] => artifacts.flatMap(({ parts }) => parts);
const reason = ({ status }: Task): string => textOf((status.message as Message).parts);

describe("a tool of an MCP server", () => {
  it("R024: makes an artifact of all that it answers", async () => {
    const runtime = await start("test_multiple_content_types");
    const { task } = await send(runtime, "test_multiple_content_types");
    expect(partsIn(task)).toEqual([
      { text: "Multiple content types test:" },
      { raw: expect.any(String), mediaType: "image/png" },
      {
        text: '{"test":"data","value":123}',
        mediaType: "application/json",
        metadata: { uri: "test://mixed-content-resource" },
      },
    ]);
  });

  it("R041: tells its progress while it works, and fails when it does", async () => {
    const runtime = await start("test_tool_with_progress", "test_error_handling");
    const { task, events } = await send(runtime, "test_tool_with_progress");
    const progress = events.flatMap((event) => {
      const update = "statusUpdate" in event ? event.statusUpdate : undefined;
      return update?.metadata?.["progress"] ?? [];
    });
    expect(progress).toEqual([
      { progress: 0, total: 100 },
      { progress: 50, total: 100 },
      { progress: 100, total: 100 },
    ]);
    expect(textOf(partsIn(task))).toBe("Reported progress three times.");
    const { task: failed } = await send(runtime, "test_error_handling");
    expect(failed.status.state).toBe("failed");
    expect(reason(failed)).toBe("This tool intentionally returns an error for testing");
    expect(failed.metadata).toMatchObject({ code: "tool_error" });
  });

  it("takes data as its arguments, and says what it cannot take", async () => {
    const runtime = await start("json_schema_2020_12_tool");
    const skill = "json_schema_2020_12_tool";
    const { task } = await send(runtime, skill, { ...say(""), parts: [{ data: { name: "Ada" } }] });
    expect(JSON.parse(textOf(partsIn(task)))).toEqual({ name: "Ada" });
    const file = await send(runtime, skill, { ...say(""), parts: [{ url: "http://x/" }] });
    expect(reason(file.task)).toBe("This skill takes text and data, and no files.");
    const list = await send(runtime, skill, { ...say(""), parts: [{ data: [1] }] });
    expect(reason(list.task)).toBe("The data of the message must be an object of arguments.");
  });

  it("that is not there fails the task", async () => {
    const runtime = await start("no_such_tool");
    const { task } = await send(runtime, "no_such_tool");
    expect(task.status.state).toBe("failed");
    expect(reason(task)).not.toBe("");
  });
});

describe("the parts of a result", () => {
  it("have its structured content once", () => {
    const structuredContent = { sum: 3 };
    const text = JSON.stringify(structuredContent);
    expect(resultParts({ structuredContent, content: [{ type: "text", text }] })).toEqual([
      { data: structuredContent, mediaType: "application/json" },
    ]);
    expect(resultParts({ structuredContent, content: [{ type: "text", text: "three" }] })).toEqual([
      { data: structuredContent, mediaType: "application/json" },
      { text: "three" },
    ]);
  });

  it("are links and files as they came", () => {
    const content = [
      { type: "resource_link", uri: "file:///a", name: "a", mimeType: "text/plain" },
      { type: "resource", resource: { uri: "x:y", blob: "YQ==" } },
      { type: "audio", data: "YQ==", mimeType: "audio/wav" },
    ];
    expect(resultParts({ content })).toEqual([
      { url: "file:///a", mediaType: "text/plain", filename: "a" },
      { raw: "YQ==", metadata: { uri: "x:y" } },
      { raw: "YQ==", mediaType: "audio/wav" },
    ]);
  });
});
