import { expect, it } from "vitest";
import type { StreamEvent } from "../../../plugins/a2a/contract/index.ts";
import {
  CARD,
  completed,
  idOf,
  sendJson,
  startBus,
  startRuntime,
  startSidecar,
  statusOf,
  until,
  user,
  type Answer,
} from "./kit.ts";

const LIMIT = 64 * 1_024;
const STREAMING = { ...CARD, capabilities: { streaming: true } };

/** A sidecar on a real nats-server, and the runtime behind it, whose answers may have 64 KiB. */
async function start(answer: Answer) {
  const bus = await startBus();
  const runtime = await startRuntime({
    "/.well-known/agent-card.json": (_, res) => sendJson(res, STREAMING),
    "/": answer,
  });
  const { queue, url } = await startSidecar({
    name: "coder",
    runtime: { url: runtime.url, maxResult: LIMIT },
    nats: { url: bus.server.url },
    backoff: { initial: "10ms", max: "20ms" },
  });
  await until(async () => (await statusOf(url)).state === "ready");
  await queue.submit(user("a", { taskId: "t" }));
  const { task } = (await queue.result("t", { wait: 20_000 }))!;
  return { task, runs: runtime.tasks.length };
}

/** Answers with these events of a stream. */
function streaming(events: (taskId: string) => Iterable<StreamEvent>): Answer {
  return (asked, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events(idOf(asked))) res.write(`data: ${JSON.stringify(event)}\n\n`);
    res.end();
  };
}

const status = (taskId: string, text: string): StreamEvent => ({
  statusUpdate: {
    taskId,
    status: { state: "working", message: { role: "agent", parts: [{ text }] } },
  },
});
const artifact = (taskId: string, text: string, append: boolean): StreamEvent => ({
  artifactUpdate: { taskId, append, artifact: { artifactId: "a", parts: [{ text }] } },
});
const end = (taskId: string): StreamEvent => ({
  statusUpdate: { taskId, status: { state: "completed" } },
});
const dead = { deadLetter: { reason: "result_too_large", deliveries: 1 } };

it("runs a task once whose events are small, and together larger than the limit", async () => {
  const { task, runs } = await start(
    streaming(function* (id) {
      for (let at = 0; at < 500; at++) yield status(id, `${at} ${"w".repeat(1_000)}`);
      // Replaced, and not kept: what is kept is what is bounded.
      for (let at = 0; at < 500; at++) yield artifact(id, `${at} ${"r".repeat(1_000)}`, false);
      for (let at = 0; at < 500; at++) yield artifact(id, "p", true);
      yield end(id);
    }),
  );
  expect(task.status.state).toBe("completed");
  expect(task.artifacts?.[0]?.parts).toEqual([
    { text: `499 ${"r".repeat(1_000)}${"p".repeat(500)}` },
  ]);
  expect(runs).toBe(1);
});

it.each<[string, Answer]>([
  ["an event", streaming((id) => [status(id, "x".repeat(2 * LIMIT)), end(id)])],
  [
    "what it puts together",
    streaming(function* (id) {
      for (let at = 0; at < 80; at++) yield artifact(id, "y".repeat(1_000), at > 0);
      yield end(id);
    }),
  ],
  ["an answer", (asked, res) => sendJson(res, completed(idOf(asked), "z".repeat(2 * LIMIT)))],
])("gives a task up at its first run when %s is larger than the limit", async (_, answer) => {
  const { task, runs } = await start(answer);
  expect(task.metadata).toEqual(dead);
  expect(task.status.message?.parts[0]?.text).toContain(`${LIMIT} bytes`);
  expect(runs).toBe(1);
});

it.each(["an event", "an answer"])(
  "gives up a task at once when %s of its runtime nests deeper than can be handled",
  async (kind) => {
    const deep = `${"[".repeat(5_000)}1${"]".repeat(5_000)}`;
    const { task, runs } = await start((asked, res) => {
      const done = JSON.stringify(completed(idOf(asked))).replace('"done"', `"x"},{"data":${deep}`);
      if (kind === "an answer") return sendJson(res, done);
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.end(`data: {"task":${done}}\n\n`);
    });
    expect(runs).toBe(1);
    expect(task.status.state).toBe("failed");
    expect(JSON.stringify(task.status.message)).toContain("nests deeper than 64 levels");
  },
);
