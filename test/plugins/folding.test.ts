import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyEvent, type StreamEvent, type Task } from "../../plugins/a2a/contract/index.ts";
import { TaskView } from "../../plugins/a2a-client/call/view.ts";
import { readStream } from "../../plugins/sidecar/runtime/stream.ts";

const LIMIT = 1_000_000;
const tooLarge = (): Error => new Error("too large");

/** Who puts a task together from its events, and what comes of it. */
const FACES: Readonly<Record<string, (events: readonly StreamEvent[]) => Promise<Task>>> = {
  "the runtime that makes them": async (events) =>
    events.reduce(applyEvent, { id: "t", contextId: "c", status: { state: "submitted" } }),
  "a2a-client": async (events) => {
    const view = new TaskView(LIMIT, tooLarge);
    for (const event of events) view.add(event);
    const { outcome } = view;
    if ("task" in outcome) return outcome.task;
    throw new Error("There is no task.");
  },
  sidecar: (events) => readStream(sent(events), "t", LIMIT, () => {}),
};

async function* sent(events: readonly StreamEvent[]): AsyncIterable<{ readonly data: string }> {
  for (const event of events) yield { data: JSON.stringify(event) };
}

const pieceOf = (artifact: object, append: boolean): StreamEvent =>
  ({ artifactUpdate: { taskId: "t", contextId: "c", artifact, append } }) as StreamEvent;
const END = {
  statusUpdate: { taskId: "t", contextId: "c", status: { state: "completed" } },
} as StreamEvent;

const piece = fc
  .record({
    artifactId: fc.constantFrom("a", "b"),
    parts: fc.array(
      fc.oneof(
        fc.record({ text: fc.string({ minLength: 1 }) }),
        fc.record({ data: fc.record({ n: fc.integer() }) }),
      ),
      { minLength: 1, maxLength: 3 },
    ),
    metadata: fc.option(fc.dictionary(fc.constantFrom("x", "y"), fc.integer()), {
      nil: undefined,
    }),
  })
  .chain((artifact) => fc.boolean().map((append) => pieceOf(artifact, append)));

it("every reader of a task's events makes the same task of them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const tasks = await Promise.all(Object.values(FACES).map((fold) => fold([...pieces, END])));
      const [first, ...others] = tasks.map((task) => JSON.parse(JSON.stringify(task)) as Task);
      for (const other of others) expect(other.artifacts).toEqual(first!.artifacts);
    }),
    { numRuns: 200 },
  );
});

describe.each(Object.entries(FACES))("to %s", (_, fold) => {
  it("a text of 500 pieces is one part, and no metadata of a piece is lost", async () => {
    const pieces = Array.from({ length: 500 }, (_piece, at) =>
      pieceOf(
        { artifactId: "a", parts: [{ text: `${at} ` }], metadata: { [`at${at % 2}`]: at } },
        at > 0,
      ),
    );
    const [artifact, ...more] = (await fold([...pieces, END])).artifacts!;
    expect(more).toEqual([]);
    expect(artifact!.parts).toHaveLength(1);
    expect(artifact!.parts[0]!.text).toMatch(/^0 1 2 .* 499 $/);
    expect(artifact!.metadata).toEqual({ at0: 498, at1: 499 });
  });
});
