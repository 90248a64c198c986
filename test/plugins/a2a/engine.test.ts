import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePlugin, type AnyPlugin } from "../../../core/index.ts";
import { textOf, taskSchema, type StreamEvent, type Task } from "../../../contract/index.ts";
import { ALICE, BOB, gate, say, startRuntime, statesIn } from "./kit.ts";

/** A server with a tool that says what it is told, and one that waits. */
function tools(held: { open?: Promise<void>; calls: number } = { calls: 0 }): AnyPlugin {
  return definePlugin({
    name: "tools",
    setup(gateway) {
      gateway.tool("shout", {
        description: "Says it loudly.",
        input: z.object({ text: z.string() }),
        async run({ text }, { progress }) {
          held.calls++;
          progress?.({ progress: 1, total: 2, message: "breathing in" });
          await held.open;
          return text.toUpperCase();
        },
      });
    },
  });
}

const SHOUT = { id: "shout", tool: { server: "tools", name: "shout" } };

const words = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));

describe("a task", () => {
  it("R063: works on a message and ends with an artifact", async () => {
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools()] });
    const running = await runtime().send(say("hello"), { principal: ALICE });
    const events: StreamEvent[] = [];
    running.watch((event) => events.push(event));
    const task = await running.settled;
    expect(taskSchema.safeParse(task).success).toBe(true);
    expect(task.status.state).toBe("completed");
    expect(words(task)).toBe("HELLO");
    expect(statesIn(events)).toEqual(["submitted", "working", "working", "completed"]);
  });

  it("T4: is there for its owner alone", async () => {
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools()] });
    const { id } = await runtime().send(say("hello"), { principal: ALICE });
    expect(() => runtime().get(id, BOB)).toThrow("There is no such task.");
    expect(runtime().list({}, BOB)).toEqual([]);
    await expect(runtime().cancel(id, BOB)).rejects.toThrow("There is no such task.");
    expect(runtime().get(id, ALICE).id).toBe(id);
  });

  it("is canceled by its owner", async () => {
    const { opened, open } = gate();
    const held = { open: opened, calls: 0 };
    const { runtime } = await startRuntime({ skills: [SHOUT], plugins: [tools(held)] });
    const running = await runtime().send(say("hello"), { principal: ALICE });
    await expect.poll(() => held.calls).toBe(1);
    const task = await runtime().cancel(running.id, ALICE);
    expect(task.status.state).toBe("canceled");
    open();
    await expect(runtime().cancel(running.id, ALICE)).rejects.toThrow("is canceled already");
  });
});
