import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { within } from "../../core/kit.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a bounded wait", () => {
  it.each([
    ["well", () => Promise.resolve("done")],
    ["badly", () => Promise.reject(new Error("not done"))],
  ])("is over when the work has ended %s, and leaves no timer", async (_, work) => {
    expect(await within(work(), 60_000)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is over when its time is, and what the work does afterwards disturbs nobody", async () => {
    let fail!: (reason: Error) => void;
    const waited = within(new Promise((_, reject) => (fail = reject)), 60_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await waited).toBe(false);
    fail(new Error("too late"));
  });

  it("of more than a timer holds does not end at once", async () => {
    const waited = within(new Promise(() => {}), Number.MAX_SAFE_INTEGER);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(vi.getTimerCount()).toBe(1);
    await vi.runAllTimersAsync();
    expect(await waited).toBe(false);
  });
});
