import { expect, it } from "vitest";
import { optionsSchema } from "../../../plugins/tasks/options.ts";

it("without options a call becomes a task after five seconds, and its result is kept for an hour", () => {
  expect(optionsSchema.parse({})).toEqual({
    after: 5_000,
    tools: {},
    ttl: 3_600_000,
    pollInterval: 1_000,
    maxRunning: 1_000,
    maxRunningEach: 100,
    maxTasks: 10_000,
    maxTasksEach: 1_000,
    maxTaskSize: 3 * 1_024 * 1_024,
    maxTotalSize: 64 * 1_024 * 1_024,
  });
});
