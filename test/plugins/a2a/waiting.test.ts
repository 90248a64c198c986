import { expect, it } from "vitest";
import type { StreamEvent } from "../../../plugins/a2a/contract/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ALICE, say, startRuntime, statesIn, type TestRuntime } from "./kit.ts";

/** A runtime whose skill asks until it is told "done". */
async function start(tasks: Readonly<Record<string, unknown>> = {}): Promise<TestRuntime> {
  const cwd = makeFolder({
    "ask.mjs": `export default { run: ({ text, ask }) => text === "done" ? text : ask("What?") };`,
  });
  return startRuntime({ cwd, skills: [{ id: "ask", function: "./ask.mjs" }], options: { tasks } });
}

/** A task that waits, and what is told of it from now on. */
async function waiting({ runtime }: TestRuntime): Promise<{ id: string; events: StreamEvent[] }> {
  const running = await runtime().send(say("go"), { principal: ALICE });
  await running.settled;
  const events: StreamEvent[] = [];
  runtime().watchAll((_task, event) => void events.push(event));
  return { id: running.id, events };
}

it("whoever watches all tasks hears that one which waited was cancelled", async () => {
  const started = await start();
  const { id, events } = await waiting(started);
  await started.runtime().cancel(id, ALICE);
  expect(statesIn(events)).toEqual(["canceled"]);
});

it("whoever watches all tasks hears that one waited too long", async () => {
  const started = await start({ ttl: "50ms" });
  const { events } = await waiting(started);
  await expect.poll(() => statesIn(events)).toEqual(["failed"]);
});

it("whoever watches all tasks hears that one which waited goes on", async () => {
  const started = await start();
  const { id, events } = await waiting(started);
  const going = await started.runtime().send(say("done", { taskId: id }), { principal: ALICE });
  await going.settled;
  expect(statesIn(events)).toEqual(["working", "completed"]);
});

it("tasks that ended make room for new ones, also when nothing is at work", async () => {
  const started = await start({ maxTasks: 2 });
  for (let count = 0; count < 5; count++) {
    const running = await started.runtime().send(say("done"), { principal: ALICE });
    expect((await running.settled).status.state).toBe("completed");
  }
  expect(started.runtime().list({}, ALICE)).toHaveLength(2);
});
