import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError, type Next } from "../../../core/index.ts";
import { ENDS, makeBed, callUp, type Bed } from "./support.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function fail(bed: Bed, times: number): Promise<void> {
  for (let count = 0; count < times; count++) await bed.run(ENDS.broken);
}

describe("a closed circuit", () => {
  it("M130: opens at the fifth transport failure in a row, and not before", async () => {
    const bed = makeBed();
    await fail(bed, 4);
    expect(bed.circuit.status).toEqual({ state: "closed", failures: 4 });
    await bed.run(ENDS.timeout);
    expect(bed.circuit.status).toMatchObject({ state: "open", failures: 5 });
  });

  it("starts counting anew after an answer, also one that reports a failure of the tool", async () => {
    for (const answer of [ENDS.answer, ENDS.isError, ENDS.rpcError]) {
      const bed = makeBed();
      await fail(bed, 4);
      await bed.run(answer);
      expect(bed.circuit.status.failures).toBe(0);
    }
  });

  it("counts no answer, cancel, oversized result or bug, however many", async () => {
    const bed = makeBed(1);
    for (const end of ["isError", "rpcError", "cancelled", "tooLarge", "bug"] as const)
      for (let count = 0; count < 10; count++) await bed.run(ENDS[end]);
    expect(bed.circuit.status).toEqual({ state: "closed", failures: 0 });
  });

  it("counts no timeout that the caller chose, but does when the server breaks off", async () => {
    const bed = makeBed(1);
    await bed.run(ENDS.timeout, callUp({ timeout: 1 }));
    await bed.run(ENDS.timeout, callUp({ meta: { "propylon/timeout": 1 } }));
    expect(bed.circuit.status.state).toBe("closed");
    await bed.run(ENDS.broken, callUp({ timeout: 1 }));
    expect(bed.circuit.status.state).toBe("open");
  });
});

describe("an open circuit", () => {
  it("M145: refuses with reason, count and time, and nothing reaches the server", async () => {
    const bed = makeBed();
    await fail(bed, 5);
    let thrown: unknown;
    try {
      await bed.circuit.pass(callUp(), () => Promise.reject(new Error("reached")));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(GatewayError);
    const retryAt = new Date(Date.now() + 30_000).toISOString();
    expect(thrown).toMatchObject({
      code: "circuit_open",
      status: 503,
      headers: { "retry-after": "30" },
      data: { server: "up", state: "open", failures: 5, retryAt, retryAfter: 30 },
    });
    expect((thrown as GatewayError).data!["reason"]).toBe(
      "5 transport failures in a row, the last: It broke off.",
    );
  });

  it("stays open for 30 s, 60 s ... and at most 300 s, less up to half", async () => {
    for (const [random, share] of [
      [1, 1],
      [0, 0.5],
    ] as const) {
      vi.mocked(Math.random).mockReturnValue(random);
      const bed = makeBed();
      await fail(bed, 5);
      for (const seconds of [30, 60, 120, 240, 300, 300]) {
        vi.advanceTimersByTime(seconds * 1_000 * share - 1);
        expect(await bed.run(ENDS.broken)).toEqual({ end: "circuit_open", reached: false });
        vi.advanceTimersByTime(1);
        expect(await bed.run(ENDS.broken)).toEqual({ end: "upstream_error", reached: true });
      }
    }
  });

  it("does not follow jumps of the wall clock", async () => {
    const bed = makeBed();
    await fail(bed, 5);
    vi.setSystemTime(Date.now() + 86_400_000);
    expect(await bed.run(ENDS.answer)).toEqual({ end: "circuit_open", reached: false });
    vi.setSystemTime(Date.now() - 2 * 86_400_000);
    vi.advanceTimersByTime(30_000);
    expect(await bed.run(ENDS.answer)).toEqual({ end: "ok", reached: true });
  });

  it("a reset by hand closes it, and failures of calls begun before do not open it again", async () => {
    const bed = makeBed(1);
    const late: ((error: Error) => void)[] = [];
    const hanging: Next = () => new Promise((_, reject) => void late.push(reject));
    const runs = Array.from({ length: 10 }, () => bed.run(hanging));
    await fail(bed, 1);
    bed.circuit.close();
    expect(bed.circuit.status).toEqual({ state: "closed", failures: 0 });
    for (const reject of late) reject(new GatewayError("upstream_error", "late"));
    await Promise.all(runs);
    expect(bed.circuit.status).toEqual({ state: "closed", failures: 0 });
    expect(await bed.run(ENDS.answer)).toEqual({ end: "ok", reached: true });
  });
});

describe("a half-open circuit", () => {
  async function opened(): Promise<Bed> {
    const bed = makeBed();
    await fail(bed, 5);
    vi.advanceTimersByTime(30_000);
    return bed;
  }

  it("dials anew, lets one call through, and closes when that is answered", async () => {
    const bed = await opened();
    let answer = (): void => {};
    const slow: Next = (call) =>
      new Promise<void>((resolve) => (answer = resolve)).then(() => ENDS.answer(call));
    const trial = bed.run(slow);
    await expect.poll(() => bed.dials).toEqual(["up"]);
    expect(bed.circuit.status.state).toBe("half-open");
    expect(await bed.run(ENDS.answer)).toEqual({ end: "circuit_open", reached: false });
    answer();
    expect(await trial).toEqual({ end: "ok", reached: true });
    expect(bed.changes.map(({ state }) => state)).toEqual(["open", "half-open", "closed"]);
    expect(bed.circuit.status).toEqual({ state: "closed", failures: 0 });
  });

  it("sends nothing when dialling fails, and opens for twice as long", async () => {
    const bed = await opened();
    bed.redial = () => Promise.reject(new GatewayError("upstream_error", "Refused."));
    expect(await bed.run(ENDS.answer)).toEqual({ end: "upstream_error", reached: false });
    const retryAt = new Date(Date.now() + 60_000).toISOString();
    expect(bed.circuit.status).toMatchObject({ state: "open", failures: 6, retryAt });
  });

  it("waits for the connection when its caller goes away, and then needs no other", async () => {
    const bed = await opened();
    let connected = (): void => {};
    bed.redial = () => new Promise<void>((resolve) => (connected = resolve));
    const gone = new AbortController();
    const trial = bed.run(ENDS.answer, callUp({ signal: gone.signal }));
    gone.abort();
    expect(await trial).toEqual({ end: "cancelled", reached: false });
    expect(bed.circuit.status.state).toBe("half-open");
    connected();
    await expect.poll(() => bed.circuit.status.state).toBe("open");
    expect(await bed.run(ENDS.answer)).toEqual({ end: "ok", reached: true });
    expect(bed.dials).toEqual(["up"]);
  });

  it("a reset during the trial stands, whatever becomes of the trial", async () => {
    const bed = await opened();
    let refuse: ((error: Error) => void) | undefined;
    const trial = bed.run(() => new Promise((_, reject) => (refuse = reject)));
    await expect.poll(() => refuse).toBeDefined();
    bed.circuit.close();
    refuse!(new GatewayError("upstream_error", "late"));
    await trial;
    expect(bed.circuit.status).toEqual({ state: "closed", failures: 0 });
  });
});

/** What the circuit should do, in the simplest words. */
interface Model {
  state: "closed" | "open";
  failures: number;
  openings: number;
  dueAt: number;
}

type Step =
  | { readonly kind: "call"; readonly end: keyof typeof ENDS }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "reset" };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .constantFrom(...(Object.keys(ENDS) as (keyof typeof ENDS)[]))
        .map((end) => ({ kind: "call" as const, end })),
    },
    {
      weight: 2,
      arbitrary: fc.integer({ min: 1, max: 320_000 }).map((ms) => ({ kind: "wait" as const, ms })),
    },
    { weight: 1, arbitrary: fc.constant({ kind: "reset" as const }) },
  ),
  { maxLength: 60 },
);

/** Applies a step to the model, before the clock moves; whether anything must reach the server. */
function apply(model: Model, step: Step, limit: number): boolean {
  if (step.kind === "reset") Object.assign(model, { state: "closed", failures: 0, openings: 0 });
  return step.kind === "call" && expectCall(model, step.end, limit);
}

/** Applies a step to the circuit; whether anything reached the server. */
async function perform(bed: Bed, step: Step): Promise<boolean> {
  if (step.kind === "call") return (await bed.run(ENDS[step.end])).reached;
  if (step.kind === "wait") vi.advanceTimersByTime(step.ms);
  else bed.circuit.close();
  return false;
}

/** Applies a call to the model; whether it must reach the server. */
function expectCall(model: Model, end: keyof typeof ENDS, limit: number): boolean {
  const isFailure = end === "broken" || end === "timeout";
  const isAnswer = end === "answer" || end === "isError" || end === "rpcError";
  const open = (): void => {
    model.state = "open";
    model.dueAt = performance.now() + Math.min(300_000, 30_000 * 2 ** model.openings++);
  };
  if (model.state === "open" && performance.now() < model.dueAt) return false;
  if (isAnswer)
    Object.assign(model, {
      state: "closed",
      failures: 0,
      openings: model.state === "open" ? 0 : model.openings,
    });
  if (!isFailure) return true;
  model.failures++;
  if (model.state === "open" || model.failures >= limit) open();
  return true;
}

it("property: state, count and what reaches the server follow the rule for any history", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), steps, async (limit, history) => {
      const bed = makeBed(limit);
      const model: Model = { state: "closed", failures: 0, openings: 0, dueAt: 0 };
      for (const step of history) {
        const wanted = apply(model, step, limit);
        const reached = await perform(bed, step);
        await Promise.resolve();
        const { state, failures } = bed.circuit.status;
        expect({ reached, state, failures }).toEqual({
          reached: wanted,
          state: model.state,
          failures: model.failures,
        });
      }
    }),
    { numRuns: 500 },
  );
});
