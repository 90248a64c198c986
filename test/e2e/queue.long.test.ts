import { describe, it, type TestContext } from "vitest";
import { lasting } from "./queue-storm.ts";
import { makeRig, type Rig, type RigOptions } from "./queue-rig.ts";
import { requireProgram } from "../fixtures/programs.ts";

/** A queue that is gone with its test. */
async function freshRig(context: TestContext, options: RigOptions = {}): Promise<Rig> {
  requireProgram("nats-server", context);
  const { onTestFinished, onTestFailed } = context;
  const rig = await makeRig(options);
  onTestFailed(() => void process.stderr.write(`${rig.said()}\n`));
  onTestFinished(() => rig.end());
  return rig;
}

async function begunRig(context: TestContext, options?: RigOptions): Promise<Rig> {
  const rig = await freshRig(context, options);
  await rig.begin();
  return rig;
}

/** Hands tasks in, each with the same orders. */
async function publishAll({ observer }: Rig, names: readonly string[], work = 0): Promise<void> {
  for (const name of names) await observer.publish(name, { work });
}

const NAMES = ["a", "b", "c", "d", "e"];

// Each waits for clocks most of the time.
describe.concurrent("the queue", () => {
  it("R006 R007 R008 R018: tasks go from the queue to the runtime and their results back, once each", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await publishAll(rig, NAMES);
    await rig.observer.publish("failing", { fail: "No such repository." });
    await rig.observer.settled();
    expect(await rig.observer.verdict()).toMatchObject({
      problems: [],
      tasks: 6,
      lost: 0,
      duplicates: 0,
      executions: 6,
      deadLetters: 0,
    });
  });

  it("a task that takes three times AckWait runs exactly once, although another sidecar waits for work", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context, { sidecars: 2 });
    await rig.observer.publish("long", { work: 2_700 });
    await rig.observer.settled();
    expect(await rig.observer.verdict()).toMatchObject({
      problems: [],
      tasks: 1,
      executions: 1,
      deadLetters: 0,
    });
  });

  it("the result is stored before the ack: a sidecar killed between them leaves a task that is known, not one that is lost", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    rig.toNats.delay(150);
    await rig.observer.publish("first");
    await rig.observer.acked();
    expect(await rig.observer.stored()).toBe(1);
    await rig.observer.publish("second");
    await rig.observer.answered(2);
    await rig.sidecars[0]!.kill();
    expect(await rig.observer.unacked()).toBe(1);
    rig.toNats.heal();
    rig.sidecars[0]!.start();
    await rig.observer.acked();
    expect(await rig.observer.verdict()).toMatchObject({ problems: [], tasks: 2, executions: 2 });
  });

  it("a sidecar killed with SIGKILL amid a task: nothing lost, nothing twice", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await publishAll(rig, NAMES, 150);
    await rig.observer.started("b");
    await rig.sidecars[0]!.kill();
    rig.sidecars[0]!.start();
    await rig.observer.settled();
    const verdict = await rig.observer.verdict();
    expect(verdict).toMatchObject({ problems: [], tasks: 5, lost: 0, duplicates: 0 });
    expect(verdict.reExecutions).toBeLessThanOrEqual(1);
  });

  it("a runtime killed with SIGKILL amid a task, and away for a while: the task runs again", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await rig.observer.publish("hit", { work: 1_000 });
    await publishAll(rig, NAMES);
    await rig.observer.started("hit");
    await rig.runtime.kill();
    await rig.runtime.begin();
    await rig.observer.settled();
    expect(await rig.observer.executions("hit")).toEqual({ starts: 2, ends: 1 });
    expect(await rig.observer.verdict()).toMatchObject({
      problems: [],
      tasks: 6,
      executions: 7,
      deadLetters: 0,
    });
  });

  it("nats-server killed with SIGKILL amid a task and started again: nothing lost, nothing twice", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await publishAll(rig, NAMES, 150);
    await rig.observer.started("b");
    await rig.nats.restart();
    await rig.observer.settled();
    const verdict = await rig.observer.verdict();
    expect(verdict).toMatchObject({ problems: [], tasks: 5, lost: 0, duplicates: 0 });
    expect(verdict.reExecutions).toBeLessThanOrEqual(1);
  });

  it("a partition from NATS that outlasts AckWait: the task is not executed again once it heals", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await publishAll(rig, NAMES, 300);
    await rig.observer.started("b");
    rig.toNats.partition();
    await lasting(2_000);
    rig.toNats.heal();
    await rig.observer.settled();
    expect(await rig.observer.executions("b")).toEqual({ starts: 1, ends: 1 });
    expect(await rig.observer.verdict()).toMatchObject({ problems: [], tasks: 5, duplicates: 0 });
  });

  it("a partition from the runtime, then a reset connection: results come, none twice", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await publishAll(rig, NAMES, 300);
    await rig.observer.started("b");
    rig.toRuntime.partition();
    await lasting(1_000);
    rig.toRuntime.heal();
    await rig.observer.publish("hit", { work: 1_000 });
    await rig.observer.started("hit");
    rig.toRuntime.reset();
    await rig.observer.settled();
    expect(await rig.observer.executions("hit")).toEqual({ starts: 2, ends: 2 });
    expect(await rig.observer.verdict()).toMatchObject({
      problems: [],
      tasks: 6,
      reExecutions: 1,
      deadLetters: 0,
    });
  });

  it("a runtime that is slow, and one that refuses for a while: each task has its result", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    rig.toRuntime.delay(200);
    await rig.observer.publish("slow", { work: 1_000 });
    await rig.observer.publish("busy", { refuse: 503, until: 2 });
    await rig.observer.settled();
    expect(await rig.observer.executions("slow")).toEqual({ starts: 1, ends: 1 });
    expect(await rig.observer.executions("busy")).toEqual({ starts: 3, ends: 1 });
    expect(await rig.observer.verdict()).toMatchObject({ problems: [], tasks: 2, deadLetters: 0 });
  });

  it("poison of every kind goes to the dead letters with a reason, and good tasks pass it", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context);
    await rig.observer.publishNonsense("nonsense");
    await rig.observer.publish("garbage", { raw: '{"id": 1}' }, true);
    await rig.observer.publish("refused", { refuse: 500 }, true);
    await publishAll(rig, NAMES);
    await rig.observer.settled();
    const verdict = await rig.observer.verdict();
    expect(verdict).toMatchObject({ problems: [], tasks: 8, lost: 0, deadLetters: 3 });
  });

  it("a task that kills the runtime each time is given up after maxDeliver", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context, { options: { maxDeliver: 2 } });
    await rig.observer.publish("killer", { crash: true }, true);
    await publishAll(rig, NAMES);
    for (const _life of [1, 2]) {
      await rig.runtime.death();
      await rig.runtime.begin();
    }
    await rig.observer.settled();
    expect(await rig.observer.executions("killer")).toEqual({ starts: 2, ends: 0 });
    expect(await rig.observer.verdict()).toMatchObject({ problems: [], tasks: 6, deadLetters: 1 });
  });

  it("a redelivery storm between two sidecars that are stopped for longer than a tiny AckWait: one result each", async (context) => {
    const { expect } = context;
    const rig = await begunRig(context, {
      sidecars: 2,
      options: { ackWait: "200ms", maxDeliver: 50 },
    });
    await publishAll(rig, [...NAMES, ...NAMES.map((name) => `${name}${name}`)], 100);
    for (let turn = 0; turn < 6; turn++) {
      const stalled = rig.sidecars[turn % 2]!;
      stalled.signal("SIGSTOP");
      await lasting(300);
      stalled.signal("SIGCONT");
    }
    await rig.observer.settled();
    expect(await rig.observer.verdict()).toMatchObject({
      problems: [],
      tasks: 10,
      lost: 0,
      duplicates: 0,
      deadLetters: 0,
    });
  });

  it("NATS is not there at the start, and later drops for some seconds: work goes on as soon as it is back", async (context) => {
    const { expect } = context;
    const rig = await freshRig(context);
    await rig.nats.kill();
    rig.sidecars[0]!.start();
    await rig.sidecars[0]!.line("");
    await lasting(1_500);
    await rig.nats.start();
    await rig.observer.begin();
    await publishAll(rig, NAMES, 100);
    await rig.observer.started("b");
    await rig.nats.kill();
    await lasting(3_000);
    await rig.nats.start();
    await rig.observer.settled();
    const verdict = await rig.observer.verdict();
    expect(verdict).toMatchObject({ problems: [], tasks: 5, lost: 0, deadLetters: 0 });
    expect(rig.sidecars[0]!.isAlive).toBe(true);
  });
});
