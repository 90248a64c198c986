import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endingOf } from "../../../plugins/lifecycle/run/report.ts";
import { commands, Model, Rig } from "./model.ts";

describe("A056, C18, C19: whatever is done, in whatever order, an agent ends once", () => {
  it.each(["ignore", "accept"] as const)(
    "with completeAfterStop: %s",
    async (late) => {
      expect.hasAssertions();
      await fc.assert(
        fc.asyncProperty(commands(late === "accept"), (sequence) =>
          fc.asyncModelRun(() => ({ model: new Model(), real: new Rig(late) }), sequence),
        ),
        { numRuns: 150 },
      );
    },
    60_000,
  );
});

describe("races", () => {
  const deed = fc.oneof(
    fc.record({ kind: fc.constant("stop" as const) }),
    fc.record({
      kind: fc.constant("complete" as const),
      payload: fc.option(fc.string({ maxLength: 3 }), { nil: undefined }),
    }),
    fc.record({ kind: fc.constant("append" as const) }),
  );

  it("A026, A033, C18: of what is done at the same time one ends the agent, and all others tell that end", async () => {
    await fc.assert(
      // The store takes eight bytes for a payload: no more are appended.
      fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 8 }), async (deeds) => {
        const rig = new Rig("ignore");
        const agent = rig.create(true);
        const results = await Promise.all(
          deeds.map(async (each, index) => {
            if (each.kind === "append") return void (await rig.lifecycle.append(agent, "a"));
            const isFirst =
              each.kind === "stop"
                ? await rig.lifecycle.end(agent, { status: "stopped", reason: "requested" })
                : await rig.lifecycle.complete(agent, `summary ${index}`, each.payload);
            return { each, index, isFirst, told: endingOf(agent, false) };
          }),
        );
        const ends = results.filter((result) => result !== undefined);
        expect(agent.isOver).toBe(ends.length > 0);
        if (ends.length === 0) return;
        // The first call wins, whatever the later ones have to compress.
        const [winner] = ends;
        expect(ends.filter(({ isFirst }) => isFirst)).toEqual([winner]);
        for (const { told } of ends) expect(told).toEqual(winner!.told);
        const { each, index } = winner!;
        expect(agent.end).toMatchObject(
          each.kind === "stop"
            ? { status: "stopped", reason: "requested" }
            : { status: "completed", summary: `summary ${index}` },
        );
        const stored = rig.store.info(agent.id)?.size;
        const given = each.kind === "complete" ? each.payload : undefined;
        expect(stored).toBe(given === undefined ? stored : Buffer.byteLength(given));
        await rig.lifecycle.close();
      }),
      { numRuns: 200 },
    );
  });

  it("100 completions at the same time are one", async () => {
    const rig = new Rig("ignore");
    const agent = rig.create(true);
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        rig.lifecycle.complete(agent, `summary ${index}`, String(index)),
      ),
    );
    expect(results.filter(Boolean)).toHaveLength(1);
    const winner = results.indexOf(true);
    expect(agent.end).toEqual({ status: "completed", summary: `summary ${winner}` });
    expect(await rig.store.slice(agent.id, 0, 10)).toEqual(Buffer.from(String(winner)));
    expect(rig.lifecycle.ends).toEqual({ completed: 1, stopped: 0 });
  });

  it("a shutdown while a payload is being stored leaves none behind", async () => {
    const rig = new Rig("ignore");
    const agent = rig.create(true);
    const completion = rig.lifecycle.complete(agent, "summary", "work");
    const closed = rig.lifecycle.close();
    expect(await completion).toBe(false);
    expect(agent.end).toMatchObject({ status: "stopped", reason: "shutdown" });
    expect(rig.store.info(agent.id)).toBeUndefined();
    await closed;
  });
});
