import fc from "fast-check";
import {
  TASK_STATES,
  type StreamEvent,
  type Task,
  messageToStandard,
  stateFromStandard,
} from "propylon/contract";
import { describe, expect, it, vi } from "vitest";
import { EventQueue } from "../../../plugins/a2a/standard/event-queue.ts";
import { pageOf } from "../../../plugins/a2a/standard/list.ts";
import {
  eventToStandard,
  messageFromStandard,
  taskToStandard,
} from "../../../plugins/a2a/contract/standard.ts";
import { openSdk } from "../../../plugins/a2a/standard/sdk.ts";
import { streamFrames } from "../../../plugins/a2a/standard/sse.ts";
import { eventFromStandard, taskFromStandard } from "./inverse.ts";

const word = fc.string({ minLength: 1, maxLength: 8 });
const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null);
const metadata = fc.dictionary(
  word.filter((key) => key !== "__proto__"),
  json,
  { maxKeys: 2 },
);
const bytes = fc.uint8Array({ maxLength: 8 }).map((raw) => Buffer.from(raw).toString("base64"));
/** The SDK cannot tell a null from nothing, so data is never null. */
const part = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ data: json, mediaType: word }, { requiredKeys: ["data"] }),
  fc.record({ raw: bytes, filename: word }, { requiredKeys: ["raw"] }),
  fc.record({ url: fc.webUrl(), metadata }, { requiredKeys: ["url"] }),
);
const message = fc.record(
  {
    messageId: word,
    role: fc.constantFrom("user", "agent"),
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    taskId: word,
    contextId: word,
    referenceTaskIds: fc.array(word, { minLength: 1, maxLength: 2 }),
    metadata,
  },
  { requiredKeys: ["messageId", "role", "parts"] },
);
const status = fc.record(
  {
    state: fc.constantFrom(...TASK_STATES),
    message,
    timestamp: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  },
  { requiredKeys: ["state"] },
);
const artifact = fc.record(
  { artifactId: word, name: word, parts: fc.array(part, { minLength: 1, maxLength: 2 }) },
  { requiredKeys: ["artifactId", "parts"] },
);
const task = fc.record(
  {
    id: word,
    contextId: word,
    status,
    artifacts: fc.array(artifact, { minLength: 1, maxLength: 2 }),
    history: fc.array(message, { minLength: 1, maxLength: 2 }),
    metadata,
  },
  { requiredKeys: ["id", "contextId", "status"] },
) as fc.Arbitrary<Task>;
const event = fc.oneof(
  task.map((value) => ({ task: value })),
  fc.record({ taskId: word, contextId: word, status }).map((statusUpdate) => ({ statusUpdate })),
  fc
    .record({ taskId: word, contextId: word, artifact })
    .map((update) => ({ artifactUpdate: update })),
) as fc.Arbitrary<StreamEvent>;

describe("the words of contract v1 and A2A 1.0", () => {
  it("R023: a task comes back as it was, through the SDK's own types", async () => {
    const sdk = await openSdk();
    fc.assert(
      fc.property(task, (value) => {
        const wire = sdk.Task.toJSON(sdk.Task.fromJSON(taskToStandard(value)));
        expect(taskFromStandard(wire as Record<string, unknown>)).toEqual(value);
      }),
    );
  });

  it("an event and a message come back as they were", async () => {
    const sdk = await openSdk();
    fc.assert(
      fc.property(event, message, (happening, said) => {
        const wire = sdk.StreamResponse.toJSON(
          sdk.StreamResponse.fromJSON(eventToStandard(happening)),
        );
        expect(eventFromStandard(wire as Record<string, unknown>)).toEqual(happening);
        const sent = sdk.Message.toJSON(sdk.Message.fromJSON(messageToStandard(said)));
        expect(messageFromStandard(sent as Record<string, unknown>)).toEqual(said);
      }),
    );
  });

  it("knows every state of the specification and no other", async () => {
    const { TaskState, taskStateToJSON } = await openSdk();
    const numbers = Object.values(TaskState).filter((value) => typeof value === "number");
    const known = numbers.map((state) => stateFromStandard(taskStateToJSON(state)));
    expect(known.filter((state) => state !== undefined).toSorted()).toEqual(TASK_STATES.toSorted());
    expect(stateFromStandard("completed")).toBeUndefined();
  });
});

describe("pages of tasks", () => {
  it("hold every task once, in order, whatever the size, also when tasks go in between", () => {
    const times = fc.constantFrom(
      "2026-01-01T00:00:00.000Z",
      "2026-01-02T00:00:00.000Z",
      undefined,
    );
    const tasks = fc.uniqueArray(fc.tuple(fc.uuid(), times), {
      selector: ([id]) => id,
      maxLength: 30,
    });
    fc.assert(
      fc.property(tasks, fc.integer({ min: 1, max: 7 }), fc.boolean(), (pairs, pageSize, goes) => {
        let left = pairs.map(([id, timestamp]) => taskOf(id, timestamp));
        const shown: string[] = [];
        let pageToken = "";
        do {
          const page = pageOf(left, { pageSize, pageToken });
          shown.push(...page.tasks.map(({ id }) => id));
          if (goes) left = left.filter(({ id }) => id !== shown.at(-1));
          pageToken = page.nextPageToken;
        } while (pageToken !== "");
        expect(shown.toSorted()).toEqual(pairs.map(([id]) => id).toSorted());
      }),
    );
  });
});

function taskOf(id: string, timestamp?: string): Task {
  return { id, status: { state: "working", ...(timestamp !== undefined && { timestamp }) } };
}

function working(text: string): StreamEvent {
  const said = { role: "agent" as const, parts: [{ text }] };
  return { statusUpdate: { taskId: "a", status: { state: "working", message: said } } };
}

function chunk(text: string, artifactId = "a"): StreamEvent {
  return {
    artifactUpdate: { taskId: "a", append: true, artifact: { artifactId, parts: [{ text }] } },
  };
}

/** All of an artifact, in place of what was there before. */
function whole(text: string, artifactId = "a"): StreamEvent {
  const update = { taskId: "a", artifact: { artifactId, parts: [{ text }] }, lastChunk: true };
  return { artifactUpdate: update };
}

const DONE: StreamEvent = {
  statusUpdate: { taskId: "a", status: { state: "completed" } },
};

async function drain(events: EventQueue): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const next of events) all.push(next);
  return all;
}

describe("the events of one reader", () => {
  it("end with the task", async () => {
    const events = new EventQueue({ stopsWaiting: true });
    for (const next of [working("a"), chunk("b"), DONE, chunk("late")]) events.push(next);
    expect(await drain(events)).toEqual([working("a"), chunk("b"), DONE]);
  });

  it("leave out what is superseded when the reader is slow, and never the end", async () => {
    const events = new EventQueue({ stopsWaiting: true, limit: 100 });
    for (let count = 0; count < 1_000; count++) events.push(working("x".repeat(20)));
    events.push(DONE);
    const told = await drain(events);
    expect(told.length).toBeLessThan(10);
    expect(told.at(-1)).toEqual(DONE);
  });

  it("fail when results would be lost, holding no more than 16 times their limit", async () => {
    const events = new EventQueue({ stopsWaiting: true, limit: 100 });
    for (let count = 0; count < 100; count++) events.push(chunk("x".repeat(20)));
    await expect(drain(events)).rejects.toThrow(/too slowly/);
  });

  it("fail when more than their limit waits for a reader that takes nothing", async () => {
    const [events, gone] = [1, 1].map(
      (patience) => new EventQueue({ stopsWaiting: true, limit: 100, patience }),
    ) as [EventQueue, EventQueue];
    for (const each of [events, gone])
      for (let count = 0; count < 10; count++) each.push(chunk("x".repeat(20)));
    await gone.return();
    await expect.poll(() => events.isGivenUp).toBe(true);
    expect(gone.isGivenUp).toBe(false);
    await expect(drain(events)).rejects.toThrow(/too slowly/);
  });

  it("wait for a reader that had no chance to read yet", async () => {
    const events = new EventQueue({ stopsWaiting: true, limit: 100 });
    const all = Array.from({ length: 20 }, (_, at) => chunk(`${at}`.padEnd(20)));
    const read = drain(events);
    for (const next of [...all, DONE]) events.push(next);
    expect(await read).toEqual([...all, DONE]);
  });

  it("leave out what waits of an artifact that is replaced, and keep what is not", async () => {
    const events = new EventQueue({ stopsWaiting: true, limit: 100 });
    const others = [chunk("x".repeat(40), "b"), working("a")];
    for (const next of others) events.push(next);
    for (let count = 0; count < 10; count++) {
      events.push(chunk("x".repeat(20)));
      events.push(whole("x".repeat(200)));
    }
    events.push(DONE);
    expect(await drain(events)).toEqual([...others, whole("x".repeat(200)), DONE]);
  });

  it("end for whoever goes away while waiting", async () => {
    const events = new EventQueue({ stopsWaiting: false });
    const next = events.next();
    await events.return();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe("server-sent events", () => {
  it("are asked for only as fast as the client reads", async () => {
    let asked = 0;
    const frames: AsyncIterator<string> = {
      next: () => Promise.resolve({ done: false, value: `${++asked}`.padEnd(8 * 1024) }),
    };
    const gone = vi.fn<() => void>();
    const reader = streamFrames(frames, gone).body!.getReader();
    await expect.poll(() => asked).toBe(9);
    let read = 0;
    while (read < 9 * 8 * 1024) read += (await reader.read()).value!.length;
    await expect.poll(() => asked).toBeGreaterThan(9);
    // One chunk is with the reader, one waits.
    expect(asked * 8 * 1024 - read).toBeLessThanOrEqual(17 * 8 * 1024);
    await reader.cancel();
    expect(gone).toHaveBeenCalledOnce();
  });

  it("say that they live while nothing happens", async () => {
    const silent: AsyncIterator<string> = { next: () => new Promise(() => {}) };
    const reader = streamFrames(silent, () => {}, 5).body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe(": keep-alive\n\n");
    await reader.cancel();
  });
});
