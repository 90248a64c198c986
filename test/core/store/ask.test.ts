import { pino } from "pino";
import { GatewayError } from "propylon";
import type { Store } from "propylon/store";
import { expect, it, onTestFinished, vi } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

const log = pino({ level: "silent" });
const signal = new AbortController().signal;

interface Pair {
  readonly asked: Store;
  readonly asking: Store;
  readonly driver: MemoryDriver;
  /** Says something to the gateway that is asked, as another gateway would. */
  readonly say: (message: object) => Promise<void>;
}

/** Two gateways of one store. */
function createPair(): Pair {
  const driver = new MemoryDriver();
  const [asked, asking] = [0, 1].map(() => new GatewayStore(driver, log).scope("tests")) as [
    Store,
    Store,
  ];
  const say = (message: object): Promise<void> =>
    driver.publish(
      `core/ask/${asked.replica}`,
      JSON.stringify({ from: asking.replica, message: { ask: "tests/echo", ...message } }),
    );
  return { asked, asking, driver, say };
}

async function* echo(body: unknown): AsyncGenerator {
  await Promise.resolve();
  yield body;
}

async function ask({ asked, asking }: Pair, body: unknown): Promise<unknown[]> {
  const answer: unknown[] = [];
  for await (const part of asking.ask(asked.replica, "echo", body, signal)) answer.push(part);
  return answer;
}

it("questions that were given up, or whose gateway died over them, are in nobody's way", async () => {
  const pair = createPair();
  await pair.asked.answer("echo", echo);
  for (let id = 0; id < 1_000; id++) {
    await pair.say({ id: `given up ${id}`, text: "[", more: true });
    await pair.say({ id: `given up ${id}`, cancel: true });
  }
  expect(await ask(pair, "first")).toEqual(["first"]);
  for (let id = 0; id < 1_000; id++) await pair.say({ id: `died ${id}`, text: "[", more: true });
  await expect(ask(pair, "second")).rejects.toThrow("busy");
  const later = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 6_000);
  onTestFinished(() => later.mockRestore());
  expect(await ask(pair, "third")).toEqual(["third"]);
});

it("a question that is too long is refused, and its end is no question of its own", async () => {
  const pair = createPair();
  const heard: unknown[] = [];
  await pair.asked.answer("echo", (body: unknown) => {
    heard.push(body);
    return echo(body);
  });
  await expect(ask(pair, "x".repeat(1_100_000))).rejects.toThrow("too long");
  await pair.say({ id: "unknown", text: "1", rest: true });
  expect(await ask(pair, "x".repeat(900_000))).toHaveLength(1);
  expect(heard).toHaveLength(1);
});

it("an answer that nobody reads ends, at both sides", async () => {
  const pair = createPair();
  let hasEnded = false;
  await pair.asked.answer("echo", async function* (_: unknown, end: AbortSignal) {
    try {
      for (let part = 0; !end.aborted; part++) {
        await new Promise((resolve) => setImmediate(resolve));
        yield "x".repeat(500_000);
      }
    } finally {
      hasEnded = true;
    }
  });
  const answer = pair.asking.ask<string>(pair.asked.replica, "echo", null, signal);
  const parts = answer[Symbol.asyncIterator]();
  expect((await parts.next()).value).toHaveLength(500_000);
  const sent = vi.spyOn(MemoryDriver.prototype, "publish");
  onTestFinished(() => sent.mockRestore());
  await expect.poll(() => sent.mock.calls.length).toBeGreaterThan(3_000);
  await expect(parts.next()).rejects.toMatchObject({ code: "unavailable" });
  await expect.poll(() => hasEnded).toBe(true);
});

it("whoever answers a topic last goes on to when the one before ends, as in a reload", async () => {
  const gateway = GatewayStore.inMemory(log);
  await gateway.join();
  onTestFinished(() => gateway.close());
  const store = gateway.scope("p");
  const saying = (word: string) =>
    async function* (): AsyncIterable<string> {
      yield await Promise.resolve(word);
    };
  const endFirst = await store.answer("t", saying("first"));
  const endSecond = await store.answer("t", saying("second"));
  await endFirst();
  const asked = async (): Promise<unknown> => {
    for await (const word of store.ask(store.replica, "t", {}, AbortSignal.timeout(5_000)))
      return word;
    return undefined;
  };
  expect(await asked()).toBe("second");
  await endSecond();
  await expect(asked()).rejects.toMatchObject({ code: "unavailable" });
});

it("who asks when it is over already does not wait for an answer", { timeout: 4_000 }, async () => {
  const { asking } = createPair();
  const none = asking.ask("nobody", "echo", {}, AbortSignal.abort(new Error("over")));
  await expect(none[Symbol.asyncIterator]().next()).rejects.toThrow("over");
});

it("an answer for a gateway that died ends, and its place is free", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const driver = new MemoryDriver();
  const gateway = new GatewayStore(driver, log);
  await gateway.join();
  onTestFinished(() => gateway.close());
  const asked = gateway.scope("tests");
  let [begun, ended] = [0, 0];
  await asked.answer("wait", async function* (_: unknown, end: AbortSignal) {
    begun++;
    await new Promise((resolve) => end.addEventListener("abort", resolve));
    ended++;
    yield "too late";
  });
  const entry = JSON.stringify({ id: "dying", version: "1.0.0", since: Date.now() });
  await driver.put("core/replicas", "dying", `1:${entry}`, { until: Date.now() + 3_000 });
  const message = { id: "1", ask: "tests/wait", text: "null" };
  const text = JSON.stringify({ from: "dying", message });
  await driver.publish(`core/ask/${asked.replica}`, text);
  await expect.poll(() => begun).toBe(1);
  const passTime = async (): Promise<number> => {
    await vi.advanceTimersByTimeAsync(5_000);
    return ended;
  };
  expect(await passTime()).toBe(0);
  await expect.poll(passTime, { timeout: 20_000 }).toBe(1);
});

it("what no gateway wrote is left alone where gateways ask each other", async () => {
  const pair = createPair();
  const { asked, asking, driver } = pair;
  await asked.answer("echo", echo);
  const heard: unknown[] = [];
  await asked.topic("news").subscribe((news) => void heard.push(news));
  for (const text of ["", "{", "null", "7", "[]", '{"message":{}}', '{"from":1,"message":1}'])
    for (const topic of [`core/ask/${asked.replica}`, "tests/news"])
      await driver.publish(topic, text);
  for (const message of [null, 7, [], {}, { id: 1, cancel: true }, "cancel"])
    await driver.publish(
      `core/ask/${asked.replica}`,
      JSON.stringify({ from: asking.replica, message }),
    );
  await asking.topic("news").publish("real");
  expect(await ask(pair, "still here")).toEqual(["still here"]);
  expect(heard).toEqual(["real"]);
});

it("a failure of a later version, whose code nobody here knows, is one of the gateway", async () => {
  const pair = createPair();
  await pair.asked.answer("echo", async function* () {
    yield await Promise.reject(new GatewayError("of_later" as never, "Something new."));
  });
  await expect(ask(pair, null)).rejects.toMatchObject({ code: "internal", status: 500 });
});
