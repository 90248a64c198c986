import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHistory, type QueueEvent } from "../fixtures/faults/history.ts";

interface Fate {
  readonly end: "completed" | "failed" | "poison";
  /** Executions that were cut short, and such that came to their end while nobody listened. */
  readonly cut: number;
  readonly vain: number;
}

const fate: fc.Arbitrary<Fate> = fc.record({
  end: fc.constantFrom("completed", "failed", "poison"),
  cut: fc.nat(3),
  vain: fc.nat(2),
});

const at = 0;

/** What a queue that keeps its promises leaves behind of one task. */
function trailOf({ end, cut, vain }: Fate, index: number): QueueEvent[] {
  const task = `task-${index}`;
  const start = (name: string): QueueEvent => ({
    kind: "start",
    task,
    execution: `${task}/${name}`,
    at,
  });
  const finish = (name: string, state: "completed" | "failed"): QueueEvent => {
    const execution = `${task}/${name}`;
    return { kind: "end", task, execution, at, state, output: `text by ${execution}` };
  };
  const cuts = Array.from({ length: cut }, (_, nth) => start(`cut-${nth}`));
  if (end === "poison")
    return [
      { kind: "published", task, poison: true },
      ...cuts,
      { kind: "dead", task, reason: "tried too often" },
      { kind: "result", task, state: "failed", output: "tried too often" },
    ];
  const vains = Array.from({ length: vain }, (_, nth) => [
    start(`vain-${nth}`),
    finish(`vain-${nth}`, "completed"),
  ]);
  return [
    { kind: "published", task },
    ...cuts,
    ...vains.flat(),
    start("last"),
    finish("last", end),
    { kind: "result", task, state: end, output: `text by ${task}/last` },
  ];
}

/** A history of some tasks in any order, with the fates that made it. */
const history = fc.array(fate, { minLength: 1, maxLength: 12 }).chain((fates) =>
  fc.tuple(
    fc.constant(fates),
    fc.shuffledSubarray(fates.flatMap(trailOf), {
      minLength: fates.flatMap(trailOf).length,
    }),
  ),
);

type Mutation = (victim: QueueEvent, events: readonly QueueEvent[]) => QueueEvent[];
const without: Mutation = (victim, events) => events.filter((event) => event !== victim);
const twice: Mutation = (victim, events) => [...events, victim];
const instead =
  (change: Partial<Record<string, string>>): Mutation =>
  (victim, events) =>
    events.map((event) => (event === victim ? { ...event, ...change } : event));

/** Each breaks a promise wherever an event of its kind stands. */
const BREAKS: readonly (readonly [string, QueueEvent["kind"], Mutation])[] = [
  ["a result is missing", "result", without],
  ["a result came twice", "result", twice],
  ["a result of something never published", "result", instead({ task: "stranger" })],
  ["a result that no execution made", "result", instead({ output: "", state: "completed" })],
  ["a task is done that was never published", "published", without],
  ["a dead letter is missing", "dead", without],
  ["a dead letter came twice", "dead", twice],
  ["a dead letter without a reason", "dead", instead({ reason: "" })],
  ["a dead letter of something never published", "dead", instead({ task: "stranger" })],
];

describe("the history checker", () => {
  it("accepts what a queue leaves behind that keeps its promises, and counts it", () => {
    fc.assert(
      fc.property(history, ([fates, events]) => {
        const poison = fates.filter(({ end }) => end === "poison");
        const good = fates.filter(({ end }) => end !== "poison");
        const total = (counts: number[]): number => counts.reduce((sum, count) => sum + count, 0);
        const vain = total(good.map((one) => one.cut + one.vain));
        expect(checkHistory(events)).toEqual({
          problems: [],
          tasks: fates.length,
          lost: 0,
          duplicates: 0,
          executions: vain + good.length + total(poison.map(({ cut }) => cut)),
          reExecutions: vain,
          poisonRetries: total(poison.map(({ cut }) => Math.max(0, cut - 1))),
          deadLetters: poison.length,
        });
      }),
    );
  });

  it.each(BREAKS)("rejects a history where %s", (_, kind, mutate) => {
    fc.assert(
      fc.property(history, fc.nat(), ([, events], pick) => {
        const victims = events.filter((event) => event.kind === kind);
        fc.pre(victims.length > 0);
        const victim = victims[pick % victims.length]!;
        expect(checkHistory(mutate(victim, events)).problems).not.toEqual([]);
      }),
    );
  });

  it("rejects the end of an execution that never started, and a result of which only the start was seen", () => {
    fc.assert(
      fc.property(history, ([, events]) => {
        const ended = events.find(({ kind }) => kind === "end");
        fc.pre(ended?.kind === "end");
        const { execution } = ended;
        const rid = (kind: string): QueueEvent[] =>
          events.filter(
            (event) =>
              event.kind !== kind || !("execution" in event) || event.execution !== execution,
          );
        expect(checkHistory(rid("start")).problems).not.toEqual([]);
        const answered = events.some(
          (event) => event.kind === "result" && event.output === ended.output,
        );
        expect(checkHistory(rid("end")).problems.length > 0).toBe(answered);
      }),
    );
  });

  it("tells lost, duplicate and dead letters of good tasks by name", () => {
    const good = trailOf({ end: "completed", cut: 0, vain: 0 }, 1);
    const [published, start, end, result] = good as [
      QueueEvent,
      QueueEvent,
      QueueEvent,
      QueueEvent,
    ];
    const dead: QueueEvent = { kind: "dead", task: "task-1", reason: "tried too often" };
    expect(checkHistory([published, start, end])).toMatchObject({
      lost: 1,
      problems: ["Task task-1 is lost: no result."],
    });
    expect(checkHistory([published, start, end, result, result])).toMatchObject({
      duplicates: 1,
      problems: ["Task task-1 has 2 results."],
    });
    expect(checkHistory([...good, dead]).problems).toContain(
      "Task task-1 is in the dead letters and no poison.",
    );
  });
});
