import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { TaskState, type Message, type StreamResponse, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { startRuntime } from "../a2a/kit.ts";
import { all, BINDINGS, connect, say, sending, text } from "./kit.ts";

const UPSTREAM = fileURLToPath(new URL("../../fixtures/upstreams/legacy.mjs", import.meta.url));
const ASKS = "test_streaming_elicitation";

/** A runtime whose skill is a tool that asks in the middle of its call. */
async function start(): Promise<string> {
  const { gateway, url } = await startRuntime({
    skills: [{ id: "ask", tool: { server: "real", name: ASKS } }],
    options: { push: { enabled: true, allow: ["127.0.0.1"] } },
    config: {
      listeners: { main: { port: 0 } },
      servers: { real: { command: process.execPath, args: [UPSTREAM, "stdio"] } },
    },
  });
  const state = (): unknown => gateway.servers.get("real")?.status.state;
  await expect.poll(state).toBe("ready");
  return url;
}

const NOTHING = { content: { $case: "data" as const, value: {} }, metadata: undefined };
const go = (): Message =>
  say("go", { parts: [{ ...NOTHING, filename: "", mediaType: "application/json" }] });

function statesOf(events: readonly StreamResponse[]): TaskState[] {
  return events.flatMap(({ payload }) => {
    if (payload?.$case === "task") return [payload.value.status!.state];
    return payload?.$case === "statusUpdate" ? [payload.value.status!.state] : [];
  });
}

/** The states that a real webhook is told. */
async function startWebhook(): Promise<{ url: string; states: string[] }> {
  const states: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const { task, statusUpdate } = JSON.parse(body) as Record<
        string,
        { status: { state: string } } | undefined
      >;
      const changed = task ?? statusUpdate;
      if (changed) states.push(changed.status.state);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, states };
}

const { TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED, TASK_STATE_COMPLETED } = TaskState;

/** The task that a stream began with. */
function taskIn([first]: readonly StreamResponse[]): Task {
  if (first?.payload?.$case !== "task") throw new Error("The stream began with no task.");
  return first.payload.value;
}

describe.each(BINDINGS)("a tool that asks, through %s", (binding) => {
  it("ends the stream of the message with its question; that of the answer ends with the task", async () => {
    const client: Client = await connect(await start(), binding);
    const events = await all(client.sendMessageStream(sending(go())));
    expect(statesOf(events).at(-1)).toBe(TASK_STATE_INPUT_REQUIRED);
    const { id } = taskIn(events);
    const answer = sending(say("answer", { taskId: id, parts: [text("decline")] }));
    const rest = await all(client.sendMessageStream(answer));
    expect(statesOf(rest)[0]).toBe(TASK_STATE_WORKING);
    expect(statesOf(rest).at(-1)).toBe(TASK_STATE_COMPLETED);
  });

  it("is heard of by who has subscribed to the task, and by its webhook, in order", async () => {
    const client = await connect(await start(), binding);
    const webhook = await startWebhook();
    const config = { id: "", taskId: "", tenant: "", url: webhook.url, token: "" };
    const taskPushNotificationConfig = { ...config, authentication: undefined };
    const waiting = (await client.sendMessage(
      sending(go(), { taskPushNotificationConfig }),
    )) as Task;
    expect(waiting.status?.state).toBe(TASK_STATE_INPUT_REQUIRED);
    const stream = client.resubscribeTask({ tenant: "", id: waiting.id });
    const first = (await stream.next()).value!;
    const parts = [text("yes")];
    const done = (await client.sendMessage(
      sending(say("answer", { taskId: waiting.id, parts })),
    )) as Task;
    expect(done.artifacts[0]?.parts[0]?.content?.value).toContain('content={"ok":true}');
    expect(statesOf([first, ...(await all(stream))])).toEqual([
      TASK_STATE_INPUT_REQUIRED,
      TASK_STATE_WORKING,
      TASK_STATE_COMPLETED,
    ]);
    await expect.poll(() => webhook.states.at(-1)).toBe("TASK_STATE_COMPLETED");
    expect(webhook.states.slice(webhook.states.indexOf("TASK_STATE_INPUT_REQUIRED"))).toEqual([
      "TASK_STATE_INPUT_REQUIRED",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
    ]);
  });

  it("is given up with its task, which its subscriber hears", async () => {
    const client = await connect(await start(), binding);
    const { id } = (await client.sendMessage(sending(go()))) as Task;
    const stream = client.resubscribeTask({ tenant: "", id });
    const first = (await stream.next()).value!;
    await client.cancelTask({ tenant: "", id, metadata: undefined });
    expect(statesOf([first, ...(await all(stream))])).toEqual([
      TASK_STATE_INPUT_REQUIRED,
      TaskState.TASK_STATE_CANCELED,
    ]);
  });
});
