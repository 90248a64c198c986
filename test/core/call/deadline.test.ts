import { definePlugin, type Call, type Progress, Answer } from "propylon";
import { Cancellation, addSignal } from "propylon/kit";
import { describe, expect, it, vi } from "vitest";
import type { Deadline } from "../../../core/internal.ts";
import { InFlightSet } from "../../../core/kit/cancellation.ts";
import {
  composePipeline,
  createDeadline,
  race,
  type Abortion,
} from "../../../core/call/pipeline.ts";
import { completeCall } from "../../../core/server/tool-call.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const ruling = (name: string, of: (call: Call) => Deadline) =>
  definePlugin({ name, setup: (gateway) => gateway.use("deadline", { limit: of }) });

const stubborn = definePlugin({
  name: "stubborn",
  setup(gateway) {
    gateway.tool("hang", {
      description: "",
      timeout: 70,
      run: () => new Promise<string>(() => {}),
    });
  },
});

describe("a plugin's rule", () => {
  it("is used in place of the core's, once per call", async () => {
    const seen: string[] = [];
    const rule = ruling("ruler", (call) => (seen.push(call.name), { total: 20 }));
    const { gateway } = await setupGateway({ plugins: [rule, stubborn], client: false });
    await expect(gateway.call({ server: "stubborn", name: "hang" })).rejects.toMatchObject({
      code: "timeout",
      data: { timeout: 20 },
    });
    expect(seen).toEqual(["hang"]);
  });

  it("refuses a call by a throw", async () => {
    const rule = ruling("ruler", () => {
      throw new TypeError("no");
    });
    const { gateway } = await setupGateway({ plugins: [rule, stubborn], client: false });
    await expect(gateway.call({ server: "stubborn", name: "hang" })).rejects.toThrow("no");
  });

  it("is one: two plugins with a rule are named and refused", async () => {
    const plugins = [ruling("one", () => ({ total: 1 })), ruling("two", () => ({ total: 2 }))];
    await expect(setupGateway({ plugins, client: false })).rejects.toMatchObject({
      code: "exists",
      message: expect.stringMatching(/"one".*"two"/) as string,
    });
  });

  it("learns what tool, server and gateway say, of the config in force", async () => {
    const seen: object[] = [];
    const asking = definePlugin({
      name: "asking",
      setup(gateway) {
        gateway.use("deadline", {
          limit: (call) => (seen.push(gateway.info.timeouts(call)), { total: 5 }),
        });
      },
    });
    const config = (timeout: number) => ({
      listeners: { main: { port: 0 } },
      servers: { dead: { url: "http://127.0.0.1:9/mcp", timeout: 3 } },
      timeouts: { default: timeout },
    });
    const { gateway } = await setupGateway({
      plugins: [asking, stubborn],
      config: config(2),
      client: false,
    });
    await gateway.call({ server: "stubborn", name: "hang" }).catch(() => {});
    await gateway.call({ server: "dead", name: "x" }).catch(() => {});
    await gateway.apply({ ...config(4), plugins: { asking: {}, stubborn: {} } });
    await gateway.call({ server: "dead", name: "x" }).catch(() => {});
    expect(seen).toEqual([
      { tool: 70, default: 2_000 },
      { server: 3_000, default: 2_000 },
      { server: 3_000, default: 4_000 },
    ]);
  });
});

describe("the bound on silence", () => {
  const running = new InFlightSet<Abortion>();
  const pipeline = (deadline: Deadline, work: (call: Call) => Promise<Answer>) =>
    composePipeline([{ stage: "deadline", run: createDeadline(() => deadline, running) }], (call) =>
      race(call, () => work(call)),
    );
  const call = (more: Partial<Call> = {}): Call => ({
    ...completeCall({ server: "s", name: "t", ...more }, new Map()),
  });

  it("ends a call that reports nothing, although its caller asked for no progress", async () => {
    vi.useFakeTimers();
    try {
      let progress: Call["progress"];
      const run = pipeline({ total: 1_000, idle: 100 }, (given) => {
        progress = given.progress;
        return new Promise<Answer>(() => {});
      });
      const outcome = run(call()).catch((error: unknown) => error);
      for (let report = 1; report <= 5; report++) {
        await vi.advanceTimersByTimeAsync(90);
        progress?.({ progress: report });
      }
      expect(running.size).toBe(1);
      await vi.advanceTimersByTimeAsync(100);
      expect(await outcome).toMatchObject({
        code: "timeout",
        message: '"t" of "s" reported no progress for 100 ms.',
        data: { idle: 100 },
      });
      progress?.({ progress: 6 });
      expect([running.size, vi.getTimerCount()]).toEqual([0, 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("leaves the total absolute, however much is reported, and passes reports on", async () => {
    vi.useFakeTimers();
    try {
      const heard: Progress[] = [];
      let progress: Call["progress"];
      const run = pipeline({ total: 250, idle: 100 }, (given) => {
        progress = given.progress;
        return new Promise<Answer>(() => {});
      });
      const outcome = run(call({ progress: (report) => void heard.push(report) })).catch(
        (error: unknown) => error,
      );
      for (let report = 1; report <= 3; report++) {
        progress?.({ progress: report });
        await vi.advanceTimersByTimeAsync(90);
      }
      expect(await outcome).toMatchObject({ code: "timeout", data: { timeout: 250 } });
      expect(heard).toHaveLength(3);
    } finally {
      vi.useRealTimers();
    }
  });

  it("costs nothing when unset: the call goes on as it is; set, its signal stays unmade", async () => {
    const cancellation = new Cancellation();
    const { signal: _, ...plain } = call();
    const lazy = addSignal({ ...plain, cancellation }) as Call;
    const seen: Call[] = [];
    const take = (given: Call): Promise<Answer> => (
      seen.push(given),
      Promise.resolve(Answer.result({}))
    );
    const run = (deadline: Deadline) =>
      composePipeline([{ stage: "deadline", run: createDeadline(() => deadline, running) }], take);
    await run({ total: 50 })(lazy);
    expect(seen[0]).toBe(lazy);
    await run({ total: 50, idle: 10 })(lazy);
    expect(seen[1]!.args).toBe(lazy.args);
    expect(cancellation.isPristine).toBe(true);
    // Looking at it makes it, so that comes last.
    expect(seen[1]).not.toBe(lazy);
    expect(seen[1]!.signal).toBe(cancellation.signal);
  });
});
