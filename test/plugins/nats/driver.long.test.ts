import { jetstream, type JetStreamManager } from "@nats-io/jetstream";
import { connect, createInbox, headers, type NatsConnection } from "@nats-io/transport-node";
import type { Opened } from "propylon/plugins/nats";
import { describe, expect, it, onTestFinished } from "vitest";
import { Listening } from "../../../plugins/nats/store/listening.ts";
import { StoreRequest } from "../../../plugins/nats/link/request.ts";
import { Subjects } from "../../../plugins/nats/store/subjects.ts";
import type { NatsServer } from "../../fixtures/nats/types.ts";
import { until, useDriver, useServer } from "./kit.ts";

const LARGE = 3 * 1024 * 1024;

interface Bus {
  readonly server: NatsServer;
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  /** Subjects of the stream of values that have messages. */
  readonly subjects: (filter: string) => Promise<readonly string[]>;
}

/** A server with a connection of the test's own. */
async function useBus(config?: string): Promise<Bus> {
  const server = await useServer(config);
  const connection = await connect({ servers: server.url });
  onTestFinished(() => connection.close());
  const manager = await jetstream(connection).jetstreamManager();
  const subjects = async (filter: string): Promise<readonly string[]> => {
    const { state } = await manager.streams.info("propylon_kv", { subjects_filter: filter });
    return Object.keys(state.subjects ?? {});
  };
  return { server, connection, manager, subjects };
}

const PARTS = "propylon.kv.p.>";
const VALUES = "propylon.kv.v.>";

describe("large values", () => {
  it("leave no part behind when they are written over, deleted, or refused", async () => {
    const { server, subjects } = await useBus();
    const driver = await useDriver(server.url);
    const rev = await driver.put("b", "key", "x".repeat(LARGE));
    const parts = await subjects(PARTS);
    expect(parts.length).toBeGreaterThan(2);
    expect(await driver.put("b", "key", "y".repeat(LARGE), { rev: rev! - 1 })).toBeUndefined();
    expect(await driver.put("b", "key", "y".repeat(LARGE), { rev: 0 })).toBeUndefined();
    await until(async () => (await subjects(PARTS)).length === parts.length);
    await driver.put("b", "key", "z".repeat(LARGE), { rev: rev! });
    await until(async () => (await subjects(PARTS)).length === parts.length);
    expect((await driver.get("b", "key"))?.value).toBe("z".repeat(LARGE));
    await driver.put("b", "key", "small");
    await until(async () => (await subjects(PARTS)).length === 0);
    await driver.put("b", "other", "x".repeat(LARGE));
    expect(await driver.delete("b", "other")).toBe(true);
    await until(async () => (await subjects(PARTS)).length === 0);
    await until(async () => (await subjects(VALUES)).length === 1);
  });

  it("are never read half: while others write them, each read is one of the writes", async () => {
    const server = await useServer();
    const [writer, reader] = [await useDriver(server.url), await useDriver(server.url)];
    const size = 1_500_000;
    await writer.put("b", "key", "0".repeat(size));
    let isWriting = true;
    const writing = (async () => {
      for (let step = 1; step < 30; step++)
        await writer.put("b", "key", String(step % 10).repeat(size));
      isWriting = false;
    })();
    let reads = 0;
    for (; isWriting; reads++) {
      const { value } = (await reader.get("b", "key"))!;
      expect(value.length).toBe(size);
      expect(value).toBe(value[0]!.repeat(size));
    }
    await writing;
    expect(reads).toBeGreaterThan(3);
  });

  it("whose part is lost count as absent, are told in the log once read, and left alone", async () => {
    const { server, manager, subjects } = await useBus();
    const lines: string[] = [];
    const driver = await useDriver(server.url, {}, lines);
    await driver.put("b", "broken", "x".repeat(LARGE));
    await driver.put("b", "whole", "1");
    const [part] = await subjects(PARTS);
    await manager.streams.purge("propylon_kv", { filter: part! });
    expect(await driver.get("b", "broken")).toBeUndefined();
    expect((await driver.list("b", { prefix: "", limit: 9 })).map(({ key }) => key)).toEqual([
      "whole",
    ]);
    expect(lines.join()).toContain("cannot be read and is left alone");
    expect(await driver.put("b", "broken", "no", { rev: 0 })).toBeUndefined();
  });

  it("have as many parts as the server's max_payload wants", async () => {
    const { server, subjects } = await useBus("max_payload: 65536");
    const driver = await useDriver(server.url);
    const text = "x".repeat(4 * 1024 * 1024);
    await driver.put("b", "key", text);
    expect((await subjects(PARTS)).length).toBeGreaterThan(64);
    expect((await driver.get("b", "key"))?.value).toBe(text);
  });

  it("in logs go with their entries", async () => {
    const { server, manager } = await useBus();
    const driver = await useDriver(server.url);
    await driver.append("log", ["a", "x".repeat(LARGE), "b".repeat(LARGE)]);
    await driver.append("log", ["last"]);
    const values = (await driver.read("log", 0, 9)).map(({ value }) => value);
    expect(values).toEqual(["a", "x".repeat(LARGE), "b".repeat(LARGE), "last"]);
    await driver.trim("log", { maxEntries: 2 });
    expect((await driver.read("log", 0, 9)).map(({ value }) => value)).toEqual([
      "b".repeat(LARGE),
      "last",
    ]);
    await driver.trim("log", { maxEntries: 1 });
    await until(async () => (await manager.streams.info("propylon_log")).state.messages === 1);
  });
});

describe("a sweep", () => {
  it("removes what has ended, and tells who watches", async () => {
    const { server, subjects } = await useBus();
    const driver = await useDriver(server.url);
    await driver.put("b", "ended", "x".repeat(LARGE), { until: Date.now() - 1 });
    await driver.put("b", "forever", "1");
    await driver.put("b", "later", "1", { until: Date.now() + 60_000 });
    const told: (string | undefined)[] = [];
    await driver.watch("b", (key) => told.push(key));
    await driver.sweep();
    await until(() => told.includes("ended"));
    expect(told).toEqual(["ended"]);
    await until(async () => (await subjects("propylon.kv.>")).length === 2);
  });

  it("removes parts that no message names, and no others", async () => {
    const { server, connection, subjects } = await useBus();
    const driver = await useDriver(server.url, { timing: { partAge: -60_000 } });
    await driver.put("b", "key", "x".repeat(LARGE));
    const before = await subjects(PARTS);
    const left = "propylon.kv.p.00000000-0000-4000-8000-000000000000.0";
    await connection.request(left, "left by a writer that was killed");
    await driver.sweep();
    expect((await subjects(PARTS)).toSorted()).toEqual(before.toSorted());
    expect((await driver.get("b", "key"))?.value).toHaveLength(LARGE);
  });

  it("leaves young parts alone: their message may be on its way", async () => {
    const { server, connection, subjects } = await useBus();
    const driver = await useDriver(server.url);
    const young = "propylon.kv.p.00000000-0000-4000-8000-000000000000.0";
    await connection.request(young, "on its way");
    await driver.sweep();
    expect(await subjects(PARTS)).toEqual([young]);
  });

  it("goes on until nothing is left that has ended", async () => {
    const { server, subjects } = await useBus();
    const driver = await useDriver(server.url, { timing: { batch: 10 } });
    for (let at = 0; at < 35; at++)
      await driver.put("b", `ended${at}`, "1", { until: Date.now() - 1 });
    await driver.put("b", "forever", "1");
    await driver.sweep();
    await expect.poll(async () => (await subjects(VALUES)).length).toBe(1);
  });

  it("comes by itself", async () => {
    const { server, subjects } = await useBus();
    const driver = await useDriver(server.url, { timing: { sweep: 50 } });
    await driver.put("b", "ended", "1", { until: Date.now() - 1 });
    await expect.poll(() => subjects(VALUES)).toEqual([]);
  });
});

describe("changes", () => {
  it("that the server told nobody are found, once", async () => {
    const { server, connection } = await useBus();
    const driver = await useDriver(server.url);
    const told: string[] = [];
    const listeners = new Listening();
    listeners.adopt(connection);
    const opened = { connection, createHeaders: headers, createInbox } as unknown as Opened;
    const request = (): StoreRequest => new StoreRequest(opened, 5_000);
    const subjects = new Subjects("propylon");
    for (const bucket of ["b", "quiet"])
      await listeners.add(
        {
          // A server that dies in between stores what it tells nobody.
          subject: `nobody.tells.${bucket}`,
          heard: () => told.push("heard"),
          missed: () => told.push(`missed ${bucket}`),
          stored: { stream: subjects.kvStream, filter: subjects.values(bucket) },
        },
        request(),
      );
    await driver.put("other", "key", "1");
    await listeners.check(request());
    expect(told).toEqual([]);
    await driver.put("b", "key", "1");
    await listeners.check(request());
    await listeners.check(request());
    expect(told).toEqual(["missed b"]);
  });

  it("that were told are not told again by the looks for others", async () => {
    const server = await useServer();
    const driver = await useDriver(server.url, { timing: { check: 5 } });
    const told: (string | undefined)[] = [];
    await driver.watch("b", (key) => told.push(key));
    const keys = Array.from({ length: 200 }, (_, index) => `key${index}`);
    for (const key of keys) await driver.put("b", key, "1");
    await until(() => told.length >= keys.length);
    expect(told).toEqual(keys);
  });
});

describe("what others wrote to the subjects", () => {
  it("does no harm: it counts as absent, and the rest is read", async () => {
    const { server, connection } = await useBus();
    const lines: string[] = [];
    const driver = await useDriver(server.url, {}, lines);
    await driver.append("log", ["before"]);
    for (const body of ["", "no JSON\nabc", "[1e99]\nabc", '["3"]\nabc', "[3]"])
      await connection.request("propylon.log.e.log.1", body);
    await driver.append("log", ["behind"]);
    const values = (await driver.read("log", 0, 9)).map(({ value }) => value);
    expect(values).toEqual(["before", "behind"]);
    expect(lines.join()).toContain("cannot be read and is left alone");
    await connection.request("propylon.kv.v.b.=zz.=", "odd");
    expect(await driver.list("b", { prefix: "", limit: 9 })).toEqual([]);
  });
});

describe("a list in pages", () => {
  it("shows what was written and deleted between two of them", async () => {
    const server = await useServer();
    const [one, two] = [await useDriver(server.url), await useDriver(server.url)];
    for (const key of ["a", "c", "e", "g", "i"]) await one.put("b", key, "1");
    const page = async (after?: string): Promise<string> =>
      (await one.list("b", { prefix: "", after, limit: 2 })).map(({ key }) => key).join("");
    expect(await page()).toBe("ac");
    await two.put("b", "d", "1");
    await two.put("b", "b", "1");
    await two.delete("b", "e");
    expect(await page("c")).toBe("dg");
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => two.put("b", `h${index + 100}`, "1")),
    );
    expect(await page("g")).toBe("h100h101");
  });
});

describe("streams", () => {
  it.each([
    ["storage", { storage: "memory" }, "storage"],
    ["a history", { max_msgs_per_subject: 5 }, "max_msgs_per_subject"],
    ["an age", { max_age: 3_600_000_000_000 }, "max_age"],
    ["nobody told", { republish: undefined }, "republish"],
  ])("that are there with other settings are refused: %s", async (_name, other, setting) => {
    const { server, manager } = await useBus();
    await (await useDriver(server.url)).close();
    const { config } = await manager.streams.info("propylon_kv");
    await manager.streams.delete("propylon_kv");
    const changed = JSON.parse(JSON.stringify({ ...config, ...other })) as typeof config;
    await manager.streams.add(changed);
    const opening = useDriver(server.url);
    await expect(opening).rejects.toMatchObject({ code: "invalid", data: { setting } });
    await expect(opening).rejects.toThrow(`The stream propylon_kv has ${setting}`);
  });

  it("that are missing are an error where they must not be created", async () => {
    const { server } = await useBus();
    await expect(useDriver(server.url, { provision: "verify" })).rejects.toThrow(
      "The stream propylon_kv does not exist.",
    );
    await (await useDriver(server.url)).close();
    await expect(useDriver(server.url, { provision: "verify" })).resolves.toBeDefined();
  });

  it("are made again when somebody deletes them", async () => {
    const { server, manager } = await useBus();
    const driver = await useDriver(server.url);
    await driver.put("b", "key", "1");
    await manager.streams.delete("propylon_kv");
    await expect(driver.put("b", "key", "2")).rejects.toThrow("stream not found");
    await until(() => driver.put("b", "key", "3").catch(() => false as const));
    expect((await driver.get("b", "key"))?.value).toBe("3");
  });

  it("that are full refuse what is new, and keep what is there", async () => {
    const { server, manager } = await useBus();
    await (await useDriver(server.url)).close();
    const { config } = await manager.streams.info("propylon_kv");
    await manager.streams.update("propylon_kv", { ...config, max_bytes: 100_000 });
    const driver = await useDriver(server.url);
    await driver.put("b", "first", "x".repeat(60_000));
    await expect(driver.put("b", "second", "x".repeat(60_000))).rejects.toThrow("maximum bytes");
    expect((await driver.get("b", "first"))?.value).toHaveLength(60_000);
  });

  it("of two prefixes are two stores", async () => {
    const { server } = await useBus();
    const [one, two] = [
      await useDriver(server.url, { prefix: "one" }),
      await useDriver(server.url, { prefix: "two" }),
    ];
    const heard: string[] = [];
    await two.subscribe("t", (message) => heard.push(message));
    await two.watch("b", () => heard.push("change"));
    await one.put("b", "key", "1");
    await one.append("log", ["1"]);
    await one.publish("t", "of one");
    await two.publish("t", "of two");
    await until(() => heard.length > 0);
    expect(heard).toEqual(["of two"]);
    expect(await two.get("b", "key")).toBeUndefined();
    expect(await two.read("log", 0, 9)).toEqual([]);
  });

  it("want a server that takes messages of some size", async () => {
    const { server } = await useBus("max_payload: 16384");
    await expect(useDriver(server.url)).rejects.toThrow("The max_payload of NATS is 16384 bytes.");
  });
});

describe("two drivers", () => {
  it("lose no step of a counter, also where its value is large", async () => {
    const server = await useServer();
    const drivers = await Promise.all([useDriver(server.url), useDriver(server.url)]);
    const filler = "x".repeat(1_200_000);
    const step = async (driver: (typeof drivers)[number]): Promise<void> => {
      for (let done = 0; done < 5;) {
        const there = await driver.get("b", "count");
        const next = Number(there?.value.split(" ")[0] ?? 0) + 1;
        const written = await driver.put("b", "count", `${next} ${filler}`, {
          rev: there?.rev ?? 0,
        });
        if (written !== undefined) done++;
      }
    };
    await Promise.all(drivers.map(step));
    expect((await drivers[0].get("b", "count"))?.value).toBe(`10 ${filler}`);
  });

  it("that drop the oldest entries of a log at once drop none too many", async () => {
    const server = await useServer();
    const drivers = await Promise.all([useDriver(server.url), useDriver(server.url)]);
    for (let step = 0; step < 30; step++)
      await drivers[step % 2]!.append("log", [`${step}`, `${step}'`]);
    await Promise.all(drivers.map((driver) => driver.trim("log", { maxEntries: 7 })));
    const values = (await drivers[0].read("log", 0, 99)).map(({ value }) => value);
    expect(values).toEqual(["26'", "27", "27'", "28", "28'", "29", "29'"]);
  });
});

describe("work that waits", () => {
  const SOON = AbortSignal.timeout(60_000);

  it("is delivered to one at a time until it is acked, also when it was given back", async () => {
    const { url } = await useServer();
    const [one, two] = [await useDriver(url), await useDriver(url)];
    const add = (key: string) =>
      one.queue("plugin/work").add({ key, group: "ada/1", size: 7 }, `work ${key}`);
    await add("a");
    await add("a");
    await add("b");
    expect(await two.queue("plugin/work").items()).toEqual([
      { key: "a", group: "ada/1", size: 7 },
      { key: "b", group: "ada/1", size: 7 },
    ]);
    expect(await two.queue("plugin/other").items()).toEqual([]);
    const first = await two.queue("plugin/work").next(SOON);
    const second = await one.queue("plugin/work").next(SOON);
    expect([first?.text, second?.text]).toEqual(["work a", "work b"]);
    first!.giveBack(0);
    await second!.ack();
    const again = await one.queue("plugin/work").next(SOON);
    expect(again?.text).toBe("work a");
    await again!.ack();
    expect(await one.queue("plugin/work").items()).toEqual([]);
    const left = new AbortController();
    const nothing = one.queue("plugin/work").next(left.signal);
    left.abort();
    expect(await nothing).toBeUndefined();
  });

  it("is there behind a restart of the server, and asked for again by itself", async () => {
    const server = await useServer();
    const driver = await useDriver(server.url);
    const queue = driver.queue("plugin/work");
    await queue.add({ key: "a", group: "g", size: 1 }, "before");
    await server.kill();
    await server.start();
    let found = await queue.next(SOON).catch(() => undefined);
    while (!found) found = await queue.next(SOON).catch(() => undefined);
    expect(found.text).toBe("before");
    await until(() =>
      found.ack().then(
        () => true,
        () => false,
      ),
    );
    expect(await queue.items()).toEqual([]);
  });
});
