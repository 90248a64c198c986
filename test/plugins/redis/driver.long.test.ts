import { Redis } from "ioredis";
import { pino } from "pino";
import { createGateway, isGatewayError } from "propylon";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { readRedisUrl } from "../../../plugins/redis/address.ts";
import { checkFitness } from "../../../plugins/redis/driver.ts";
import redis from "../../../plugins/redis/index.ts";
import { PASSWORD, startRedis } from "../../fixtures/redis/redis.mjs";
import type { RedisServer } from "../../fixtures/redis/types.ts";
import { until } from "../../kit/until.ts";
import { driverOf, freshPrefix, hasRedis, openDriver, startServer } from "./kit.ts";

async function failureOf(work: Promise<unknown>): Promise<{ message: string; hint: string }> {
  const error = await work.then(
    () => expect.unreachable("It did not fail."),
    (thrown: unknown) => thrown,
  );
  if (!isGatewayError(error)) throw error;
  const told = JSON.stringify([
    error.message,
    error.hint,
    error.data,
    error.cause,
    String(error.cause),
  ]);
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "wrong-password"])
    expect(told).not.toContain(secret);
  return { message: error.message, hint: error.hint ?? "" };
}

describe.runIf(hasRedis)("a store in Redis", () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis(await freePort());
    client = new Redis(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  it("is apart from that of another prefix, and of another database", async () => {
    const prefix = freshPrefix();
    const [one, ...others] = await Promise.all([
      driverOf(server.url, prefix),
      driverOf(server.url, freshPrefix()),
      driverOf(`${server.url}/3`, prefix),
    ]);
    const told: unknown[] = [];
    for (const other of others) {
      await other.watch("bucket", (key) => told.push(key));
      await other.subscribe("topic", (message) => told.push(message));
    }
    await one.put("bucket", "key", "value");
    await one.publish("topic", "message");
    for (const other of others) {
      expect(await other.get("bucket", "key")).toBeUndefined();
      await other.put("bucket", "own", "value");
    }
    await until(() => told.length === 2);
    expect(told).toEqual(["own", "own"]);
  });

  it("tells everyone who watches when its connection was cut", async () => {
    const prefix = freshPrefix();
    const [driver, other] = await Promise.all([
      driverOf(server.url, prefix),
      driverOf(server.url, prefix),
    ]);
    const told: (string | undefined)[] = [];
    const messages: string[] = [];
    let follows = 0;
    await driver.watch("bucket", (key) => told.push(key));
    await driver.follow("log", () => follows++);
    await driver.subscribe("topic", (message) => messages.push(message));
    await client.call("CLIENT", "KILL", "TYPE", "pubsub");
    await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await until(() => other.put("bucket", "missed", "value").catch(() => undefined));
    await until(() => told.includes(undefined) && follows > 0);
    await other.put("bucket", "seen", "value");
    await other.publish("topic", "again");
    await until(() => told.at(-1) === "seen" && messages.includes("again"));
    expect((await driver.get("bucket", "missed"))?.value).toBe("value");
  });

  it("removes values that ended, and tells of it", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const prefix = freshPrefix();
    const driver = await driverOf(server.url, prefix);
    const told = new Set<string | undefined>();
    await driver.watch("bucket", (key) => told.add(key));
    const keys = Array.from({ length: 1_200 }, (_, index) => `${index}`);
    await Promise.all(
      keys.map((key) => driver.put("bucket", key, "v", { until: Date.now() + 300 })),
    );
    await driver.put("bucket", "stays", "v");
    await until(() => told.has("stays"));
    await until(async () => (await driver.list("bucket", { prefix: "", limit: 10 })).length === 1);
    told.clear();
    vi.advanceTimersByTime(45_000);
    await until(() => told.size === 1_200);
    expect(await client.zcard(`{${prefix}}:keys:bucket`)).toBe(1);
    expect(await client.zcard(`{${prefix}}:ends`)).toBe(0);
  });

  it("lists past any number of values that ended and are not removed yet", async () => {
    const driver = await driverOf(server.url, freshPrefix());
    for (const key of ["a1", "a2", "a3", "a4"])
      await driver.put("bucket", key, "v", { until: Date.now() + 100 });
    await driver.put("bucket", "b", "v");
    await until(async () => (await driver.get("bucket", "a4")) === undefined);
    const listed = await driver.list("bucket", { prefix: "", limit: 2 });
    expect(listed.map(({ key }) => key)).toEqual(["b"]);
  });

  it("drops what is not to stay of a log in batches, by count and by age", async () => {
    const driver = await driverOf(server.url, freshPrefix());
    const values = Array.from({ length: 1_700 }, (_, index) => `${index}`);
    await driver.append("log", values);
    await driver.append("other", ["stays"]);
    await driver.trim("log", { maxEntries: 10 });
    const left = await driver.read("log", 0, 100);
    expect(left.map(({ value }) => value)).toEqual(values.slice(-10));
    await driver.trim("log", { maxEntries: 100, before: left[0]!.at - 60_000 });
    expect(await driver.read("log", 0, 100)).toHaveLength(10);
    await driver.trim("log", { maxEntries: 100, before: Date.now() + 60_000 });
    expect(await driver.read("log", 0, 100)).toEqual([]);
    expect(await driver.read("other", 0, 100)).toHaveLength(1);
  });

  it("goes on above what gateways remember after the server lost its data", async () => {
    const driver = await driverOf(server.url, freshPrefix());
    const rev = await driver.put("bucket", "key", "before");
    const seq = await driver.append("log", ["before"]);
    await client.flushall();
    expect(await driver.put("bucket", "key", "after")).toBeGreaterThan(rev!);
    expect(await driver.append("log", ["after"])).toBeGreaterThan(seq);
    expect((await driver.read("log", seq, 10)).map(({ value }) => value)).toEqual(["after"]);
  });

  it("says no word of a value when a write fails", async () => {
    const driver = await driverOf(server.url, freshPrefix());
    await client.config("SET", "maxmemory", "1");
    onTestFinished(async () => void (await client.config("SET", "maxmemory", "0")));
    const error = await driver.put("bucket", "key", "a secret").catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("OOM");
    expect(JSON.stringify([error, { ...(error as object) }])).not.toContain("secret");
  });

  it("is the store of a gateway, and says where the config is wrong", async () => {
    const options = { log: pino({ level: "silent" }), plugins: { redis } };
    const listeners = { main: { port: 0 } };
    const gateway = await createGateway({ store: server.url, listeners }, options);
    onTestFinished(() => gateway.close());
    const wrong = server.url.replace(/\/\/.*@/, "//:wrong-password@");
    const error = await createGateway({ store: wrong, listeners }, options).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "io_error", place: { path: "store" } });
    expect(JSON.stringify([error, (error as Error).message])).not.toContain("wrong-password");
  });

  it("with a wrong password, or none, is refused with what to do", async () => {
    const of = (credentials: string): Promise<unknown> =>
      openDriver(server.url.replace(/\/\/.*@/, `//${credentials}`), "p");
    expect(await failureOf(of(":wrong-password@"))).toMatchObject({
      message: expect.stringMatching(/cannot be used: WRONGPASS/) as string,
      hint: "Check user and password in the store's URL.",
    });
    expect(await failureOf(of(""))).toMatchObject({
      message: expect.stringMatching(/cannot be used: NOAUTH/) as string,
      hint: "Put user and password into the store's URL.",
    });
  });

  it("without that database is refused", async () => {
    const { message, hint } = await failureOf(openDriver(`${server.url}/99`, "p"));
    expect(message).toContain("cannot be used: ERR DB index is out of range");
    expect(hint).toBe("Check the number of the database in the store's URL.");
  });

  it("on a server that drops values when it is full is refused", async () => {
    const small = await startServer({ maxmemory: "100mb", "maxmemory-policy": "allkeys-lru" });
    expect((await failureOf(openDriver(small.url, "p"))).message).toBe(
      "The store's Redis drops values when its memory is full (maxmemory-policy allkeys-lru).",
    );
  });

  it("on a replica is refused", async () => {
    const replica = await startServer({ replicaof: `127.0.0.1 ${server.port}` });
    expect((await failureOf(openDriver(replica.url, "p"))).message).toBe(
      "The store's Redis is a read-only replica.",
    );
  });
});

it.each([
  ["redis_version:5.0.14\r\n", "The store's Redis is older than 6."],
  [
    "redis_version:7.0.15\r\ncluster_enabled:1\r\n",
    "The store's Redis is a node of a cluster, which is not supported.",
  ],
])("a server that says %j is refused", (info, message) => {
  expect(() => checkFitness(info)).toThrow(message);
});

describe("the URL of a store in Redis", () => {
  it.each([
    ["redis://user:secret@redis.example:6380/2", "redis.example:6380/2", 2],
    ["redis://redis.example", "redis.example:6379/0", 0],
    ["rediss://:secret@[::1]/", "[::1]:6379/0", 0],
  ])("%s is told without credentials", (url, name, database) => {
    expect(readRedisUrl(url)).toMatchObject({ name, database });
  });

  it("has the host without brackets, and the words of a password as they are", () => {
    expect(readRedisUrl("rediss://ada:p%40ss@[::1]/").options).toEqual({
      host: "::1",
      port: 6379,
      db: 0,
      username: "ada",
      password: "p@ss",
      tls: { servername: "::1" },
    });
  });

  it.each([
    ["redis://:p%40ss%2Fword%3A1@[broken", "cannot be read"],
    ["redis://:p%40ss%2Fword%3A1@h/notes", "cannot be read"],
    ["redis://:p%40ss%2Fword%3A1@h/0?tls=true", "cannot be read"],
    ["redis://:p%40ss%2Fword%3A1@127.0.0.1:1", "ECONNREFUSED"],
  ])("%s is refused without its password", async (url, reason) => {
    expect((await failureOf(openDriver(url, "p"))).message).toContain(reason);
  });
});
