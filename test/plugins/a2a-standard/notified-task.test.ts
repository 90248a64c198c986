import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import type { StreamEvent, Task, TaskState } from "../../../plugins/a2a/contract/index.ts";
import {
  NotifiedTask,
  type NotifiedTaskHost,
} from "../../../plugins/a2a/standard/push/notified-task.ts";
import { Outbox, type OutboxLimits } from "../../../plugins/a2a/standard/push/outbox.ts";
import { WebhookRecords } from "../../../plugins/a2a/standard/push/webhook-records.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";

const TASK = { taskId: "t", owner: { ref: "key:alice" } };

/** What a webhook was told: a state, or the number of a piece of an artifact. */
type Posted = string | number;

/** The webhooks of one task at gateways of one store. */
async function start() {
  const kept = new KeptStore({ shared: true });
  const log = pino({ level: "silent" });
  const open = async (): Promise<WebhookRecords> => {
    const driver = await kept.plugin.stores!["kept"]!.open("kept:", {
      folder: "",
      options: {},
      log,
    });
    const records = new WebhookRecords(new GatewayStore(driver, log).scope("a2a"));
    onTestFinished(() => records.close());
    return records;
  };
  const add = (records: WebhookRecords, id: string, told?: string) =>
    records.change(TASK, (before) => ({
      replica: "",
      createdAt: 0,
      ...before,
      owner: TASK.owner.ref,
      taskId: TASK.taskId,
      hooks: [
        ...(before?.hooks ?? []),
        { config: { id, url: "https://example.com/", token: "" }, ...(told && { told }) },
      ],
    }));
  return { kept, open, add };
}

/** One gateway that tells it, whose webhooks take everything. */
function tell(records: WebhookRecords) {
  const posted = new Map<string, Posted[]>();
  const limits: OutboxLimits = { waiting: 0, size: 0, most: 1_000, retries: 0, report: () => {} };
  const host: NotifiedTaskHost = {
    records,
    openOutbox: ({ config: { id } }, ended) => {
      posted.set(id, posted.get(id) ?? []);
      const post = async ({ body }: { readonly body: string }): Promise<number> => {
        posted.get(id)!.push(read(body));
        return 204;
      };
      return new Outbox(() => limits, post, ended);
    },
    release: () => {},
  };
  const notified = new NotifiedTask(TASK, taskIn("submitted"), host);
  const hear = (event: StreamEvent, state: TaskState) => notified.hear(event, taskIn(state));
  return { notified, posted, hear };
}

let seconds = 0;

function taskIn(state: TaskState): Task {
  return { id: "t", contextId: "c", status: { state, timestamp: timeOf(seconds) } };
}

const timeOf = (second: number): string => new Date(second * 1_000).toISOString();

function moved(state: TaskState): StreamEvent {
  const status = { state, timestamp: timeOf(++seconds) };
  return { statusUpdate: { taskId: "t", contextId: "c", status } };
}

const wrote = (piece: number): StreamEvent => ({
  artifactUpdate: {
    taskId: "t",
    contextId: "c",
    artifact: { artifactId: "result", parts: [{ text: String(piece) }] },
  },
});

function read(body: string): Posted {
  const { task, statusUpdate, artifactUpdate } = JSON.parse(body) as {
    task?: { status: { state: string } };
    statusUpdate?: { status: { state: string } };
    artifactUpdate?: { artifact: { parts: readonly { text: string }[] } };
  };
  if (artifactUpdate) return Number(artifactUpdate.artifact.parts[0]!.text);
  return `${task ? "task " : ""}${(task ?? statusUpdate)!.status.state}`;
}

it("what happens before the webhooks can be read is told behind it: all of a little, of much the task as it is", async () => {
  for (const pieces of [50, 250]) {
    const { kept, open, add } = await start();
    const records = await open();
    // It knows of the state, so that nothing but pieces is new to it.
    await add(records, "hook", `working ${timeOf(seconds)}`);
    kept.isAway = true;
    const { notified, posted, hear } = tell(records);
    for (let piece = 0; piece < pieces; piece++) hear(wrote(piece), "working");
    hear(moved("completed"), "completed");
    expect(posted.size).toBe(0);
    kept.isAway = false;
    await until(() => posted.get("hook")?.at(-1) === "TASK_STATE_COMPLETED");
    await notified.idle();
    const told = posted.get("hook")!;
    const from = pieces > 100 ? told.indexOf("task TASK_STATE_WORKING") : -1;
    expect(told.slice(0, from + 1)).toEqual(pieces > 100 ? ["task TASK_STATE_WORKING"] : []);
    expect(told.length).toBeLessThanOrEqual(102);
    const first = pieces - (told.length - from - 2);
    expect(told.slice(from + 1, -1)).toEqual(
      Array.from({ length: told.length - from - 2 }, (_, at) => first + at),
    );
  }
});

it("another replica that goes on with the task tells its webhooks from then on, and this one no more", async () => {
  const { open, add } = await start();
  const [here, there] = [await open(), await open()];
  await add(here, "hook");
  const first = tell(here);
  first.hear({ task: taskIn("submitted") }, "submitted");
  first.hear(moved("working"), "working");
  await until(() => first.posted.get("hook")?.length === 2);
  await first.notified.idle();
  const second = tell(there);
  second.hear(moved("working"), "working");
  await until(() => second.posted.get("hook")?.length === 1);
  await first.notified.look();
  expect(first.notified.isLeft).toBe(true);
  expect((await here.read(TASK))?.replica).toBe(there.replica);
  expect(first.posted.get("hook")).toEqual(["task TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]);
});

it("a webhook that comes to it elsewhere is told the task as it is, unless it was so when it came", async () => {
  const { open, add } = await start();
  const [here, there] = [await open(), await open()];
  await add(here, "first");
  const { notified, posted, hear } = tell(here);
  hear({ task: taskIn("working") }, "working");
  await until(() => posted.get("first")?.length === 1);
  await add(there, "late");
  await add(there, "informed", `working ${timeOf(seconds)}`);
  await notified.look();
  hear(moved("completed"), "completed");
  await notified.idle();
  expect(Object.fromEntries(posted)).toEqual({
    first: ["task TASK_STATE_WORKING", "TASK_STATE_COMPLETED"],
    late: ["task TASK_STATE_WORKING", "TASK_STATE_COMPLETED"],
    informed: ["TASK_STATE_COMPLETED"],
  });
  const completed = `completed ${timeOf(seconds)}`;
  const { hooks } = (await there.read(TASK))!;
  expect(hooks.map(({ told }) => told)).toEqual([completed, completed, completed]);
});

it("changes of several gateways at once are all there, and none is made while the store is away", async () => {
  const { kept, open, add } = await start();
  const all = await Promise.all([open(), open(), open()]);
  const ids = Array.from({ length: 60 }, (_, at) => `hook-${at}`);
  await Promise.all(ids.map((id, at) => add(all[at % 3]!, id)));
  const { hooks } = (await all[0].read(TASK))!;
  expect(new Set(hooks.map(({ config }) => config.id))).toEqual(new Set(ids));
  kept.isAway = true;
  await expect(add(all[0], "refused")).rejects.toMatchObject({ code: "unavailable" });
  const claiming = all[1].claim(TASK);
  kept.isAway = false;
  expect((await claiming)?.hooks).toHaveLength(60);
  await all[2].delete(TASK);
  expect(await all[0].read(TASK)).toBeUndefined();
});
