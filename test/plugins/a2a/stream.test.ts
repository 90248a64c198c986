import { expect, it } from "vitest";
import type { StreamEvent, TaskState } from "../../../plugins/a2a/contract/index.ts";
import { streamTask } from "../../../plugins/a2a/dialect/stream.ts";

function watched() {
  let tell!: (event: StreamEvent) => void;
  const calls: string[] = [];
  const reader = { end: () => void calls.push("end"), leave: () => void calls.push("leave") };
  const task = {
    watch: (listener: (event: StreamEvent) => void) => {
      tell = listener;
      return () => void calls.push("unwatch");
    },
  };
  const state = (now: TaskState): StreamEvent => ({ task: { id: "t", status: { state: now } } });
  const response = streamTask(task, reader);
  return { response, calls, tell: (now: TaskState) => tell(state(now)) };
}

it.each(["input-required", "completed"] as const)(
  "a client that leaves behind the event %s has its answer, although it never saw the end of the stream",
  async (last) => {
    const { response, calls, tell } = watched();
    const events = response.body!.getReader();
    tell("working");
    tell(last);
    expect(calls).toEqual(["unwatch", "end"]);
    await events.cancel();
    expect(calls).toEqual(["unwatch", "end"]);
  },
);

it("a client that leaves before the last event has left", async () => {
  const { response, calls, tell } = watched();
  tell("working");
  await response.body!.cancel();
  expect(calls).toEqual(["unwatch", "leave"]);
});

it("a client that reads nothing for 16 MiB is cut off", () => {
  const { calls, tell } = watched();
  const bytes = JSON.stringify({ task: { id: "t", status: { state: "working" } } }).length;
  for (let told = 0; told < (17 * 1024 * 1024) / bytes; told++) tell("working");
  expect(calls).toEqual(["unwatch", "leave"]);
});
