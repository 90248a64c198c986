import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  applyEvent,
  STATES,
  TASK_STATES,
  taskSchema,
  textOf,
  type StreamEvent,
  type Task,
  type TaskArtifactUpdate,
  type TaskState,
} from "../../../plugins/a2a/contract/index.ts";
import { compact } from "../../../plugins/a2a/tasks/compaction.ts";
import { LiveTask } from "../../../plugins/a2a/tasks/task/live-task.ts";
import { estimateTokens } from "../../../plugins/a2a/tasks/transcript.ts";
import type { ChatMessage } from "../../../plugins/agents/model.ts";
import { ALICE } from "./kit.ts";

const make = (): LiveTask =>
  new LiveTask({ id: "t", contextId: "c", owner: ALICE, skill: "s", most: 1_048_576 });

const MIB = 1_048_576;

/** What may follow, written down once more by hand (A2A 1.0, section 3.4). */
const MODEL: Record<TaskState, string> = {
  submitted: "working failed canceled rejected",
  working: "working input-required auth-required completed failed canceled rejected",
  "input-required": "working failed canceled",
  "auth-required": "working failed canceled",
  completed: "",
  failed: "",
  canceled: "",
  rejected: "",
};

const move = fc.record({ move: fc.constantFrom(...TASK_STATES) });
const write = fc.record({
  write: fc.record({
    artifactId: fc.constantFrom("a", "b"),
    parts: fc.array(fc.record({ text: fc.string({ maxLength: 5 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    append: fc.boolean(),
  }),
});

describe("the state machine of a task", () => {
  it("takes legal transitions only, final states are sticky, and every snapshot is a task", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(move, write), { maxLength: 30 }), (steps) => {
        const live = make();
        let model: TaskState = "submitted";
        for (const step of steps) {
          const before = live.task;
          const frozen = JSON.stringify(before);
          const next = "move" in step ? step.move : undefined;
          const legal = next !== undefined && MODEL[model].split(" ").includes(next);
          const moved = next !== undefined && live.move(next, [{ text: "why" }]);
          expect(moved).toBe(legal);
          if (legal) model = next;
          if ("write" in step) live.write(step.write);
          expect(live.state).toBe(model);
          expect(JSON.stringify(before)).toBe(frozen);
          expect(taskSchema.safeParse(live.task).success).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("tells its watchers exactly what makes the task out of its first snapshot, in order, until it is settled", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(move, write), { maxLength: 30 }), (steps) => {
        const live = make();
        let seen: Task | undefined;
        let isOver = false;
        live.watch((event: StreamEvent) => {
          expect(isOver).toBe(false);
          seen = applyEvent(seen ?? live.task, event);
          const { isFinal, isInterrupted } = STATES[seen.status.state];
          isOver = isFinal || isInterrupted;
        });
        for (const step of steps) {
          if (isOver) break;
          if ("move" in step) live.move(step.move);
          else live.write(step.write);
        }
        expect(seen).toEqual(live.task);
      }),
      { numRuns: 200 },
    );
  });

  it("keeps the text of an artifact that came in pieces as one part", () => {
    const live = make();
    live.move("working");
    for (const text of ["a", "b", "c"]) live.write({ parts: [{ text }], append: true });
    expect(live.task.artifacts).toEqual([{ artifactId: "result", parts: [{ text: "abc" }] }]);
  });

  it("ends every artifact with all of it, whatever was added and replaced before", () => {
    fc.assert(
      fc.property(fc.array(write, { maxLength: 30 }), (steps) => {
        const live = make();
        live.move("working");
        const updates: TaskArtifactUpdate[] = [];
        live.watch((event) => {
          if ("artifactUpdate" in event) updates.push(event.artifactUpdate);
        });
        for (const step of steps) live.write(step.write);
        live.close();
        const artifacts = live.task.artifacts ?? [];
        const last = updates.filter(({ lastChunk }) => lastChunk);
        expect(last.map(({ artifact }) => artifact)).toEqual(artifacts);
        expect(last.every(({ append }) => !append)).toBe(true);
        const told = updates.length;
        live.close();
        expect(updates).toHaveLength(told);
      }),
    );
  });

  it("does not repeat an artifact that is larger than a client reads in one event", () => {
    const live = new LiveTask({ id: "t", contextId: "c", owner: ALICE, skill: "s", most: 8 * MIB });
    live.move("working");
    const updates: TaskArtifactUpdate[] = [];
    live.watch((event) => {
      if ("artifactUpdate" in event) updates.push(event.artifactUpdate);
    });
    for (let count = 0; count < 3; count++)
      live.write({ parts: [{ text: "x".repeat(MIB) }], append: true });
    live.close();
    expect(updates.map(({ append }) => append)).toEqual([false, true, true, true]);
    expect(updates.at(-1)).toMatchObject({ artifact: { parts: [{ text: "" }] }, lastChunk: true });
  });

  it("settles anew for each message that it takes", async () => {
    const live = make();
    live.take({ role: "user", parts: [{ text: "one" }] });
    live.move("working");
    live.move("input-required", [{ text: "and?" }]);
    expect((await live.settled).status.state).toBe("input-required");
    live.take({ role: "user", parts: [{ text: "two" }] });
    expect(live.state).toBe("working");
    live.move("completed");
    expect((await live.settled).status.state).toBe("completed");
    expect(live.task.history?.map(({ parts }) => textOf(parts))).toEqual(["one", "and?", "two"]);
  });
});

const text = fc.string({ maxLength: 400 });
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  text.map((said): ChatMessage => ({ role: "user", parts: [{ type: "text", text: said }] })),
  text.map((said): ChatMessage => ({ role: "assistant", parts: [{ type: "text", text: said }] })),
  text.map((said): ChatMessage => ({
    role: "tool",
    parts: [
      {
        type: "tool-result",
        id: "1",
        name: "t",
        parts: [{ type: "text", text: said }],
        isError: false,
      },
    ],
  })),
);

describe("compaction", () => {
  it("R075: keeps the newest message whole, begins with the user, and fits unless that message does not", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 40 }),
        text,
        text,
        fc.integer({ min: 100, max: 2_000 }),
        fc.double({ min: 0, max: 0.9, noNaN: true }),
        async (before, last, summary, above, keep) => {
          const messages: ChatMessage[] = [
            ...before,
            { role: "user", parts: [{ type: "text", text: last }] },
          ];
          const compacted = await compact(messages, { maxTokens: above, keepRatio: keep }, () =>
            Promise.resolve(summary),
          );
          const isLong = estimateTokens(messages) > above && before.length > 0;
          expect(compacted !== undefined).toBe(isLong);
          const { messages: after, report } = compacted ?? { messages, report: undefined };
          expect(after[0]!.role === "user" || !isLong).toBe(true);
          expect(after.at(-1)!.parts.at(-1)).toEqual({ type: "text", text: last });
          expect(report?.after.tokens ?? 0).toBe(isLong ? estimateTokens(after) : 0);
          // What stays, the summary with the words around it, and the last message, which may be long.
          const room = above * keep + above * 0.3 + 40 + last.length / 4;
          expect(isLong && estimateTokens(after) > room).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });
});
