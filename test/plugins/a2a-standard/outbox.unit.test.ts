import { expect, it } from "vitest";
import { Outbox, type OutboxLimits } from "../../../plugins/a2a/standard/push/outbox.ts";

it("notifications that wait have a room, however few they are; the end of a task is taken all the same", () => {
  const outcomes: string[] = [];
  const limits: OutboxLimits = {
    waiting: 0,
    size: 0,
    most: 100,
    retries: 0,
    report: (outcome) => void outcomes.push(outcome),
  };
  const outbox = new Outbox(
    () => limits,
    (_, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("closed"))),
      ),
  );
  const body = "x".repeat(30 * 1024 * 1024);
  for (const isLast of [false, false, false, true]) outbox.put({ body, isLast });
  expect([limits.waiting, outcomes]).toEqual([3, ["dropped"]]);
  outbox.close();
  return expect(outbox.idle().then(() => [limits.waiting, limits.size])).resolves.toEqual([0, 0]);
});
