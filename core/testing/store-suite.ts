import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { StoreDriver } from "../store/driver.ts";
import { fresh, type StoreUnderTest } from "./store-under-test.ts";
import { testStoreModel } from "./store-model.ts";
import { testStoreParts } from "./store-parts.ts";

/**
 * What the shared suite needs to know about a store.
 *
 * @example const suite: StoreSuite = { open: () => FileDriver.open(file) };
 */
export interface StoreSuite {
  /** Opens the store: one and the same each time. A store that is not shared is closed before it is opened again. */
  open(): Promise<StoreDriver>;
  /** Steps of the test against a model. Default: 2,000. */
  readonly steps?: number;
  /** Of the test against a model, to repeat one. Default: random; failures name it. */
  readonly seed?: number;
}

/**
 * The suite that every store passes: values, revisions, ends, lists, changes, logs, messages, all that plugins get of it, a walk of
 * random steps beside a model, and for a durable one all that again after it was closed.
 *
 * @example testStore("file", { open: () => FileDriver.open(file) });
 */
export function testStore(name: string, suite: StoreSuite): void {
  describe(`store ${name}`, () => {
    const under = { driver: undefined as unknown as StoreDriver, open: () => suite.open() };
    beforeAll(async () => {
      under.driver = await suite.open();
    });
    afterAll(() => under.driver.close());
    testValues(under);
    testLists(under);
    testChanges(under);
    testLogs(under);
    testTopics(under);
    testStoreParts(under);
    testStoreModel(
      under,
      suite.steps ?? 2_000,
      suite.seed ?? Math.floor(Math.random() * 0x8000_0000),
    );
    testAfterwards(under);
  });
}

const TEXTS: Readonly<Record<string, string>> = {
  "an empty text": "",
  "a letter": "a",
  "a zero byte as JSON writes it": String.raw`"\u0000"`,
  quotes: `'"\`;--`,
  "line ends": "a\r\nb\nc",
  umlauts: "Größe",
  "an emoji": "👩‍💻",
  "a backslash": String.raw`\N\x00`,
  "64 KB": "x".repeat(65_536),
  "1 MB": "ü".repeat(524_288),
  "4 MB": "x".repeat(4 * 1024 * 1024),
};

const KEYS: Readonly<Record<string, string>> = {
  "a letter": "a",
  "the first character": "!",
  "the last character": "~",
  slashes: "a/b//c/",
  dots: "..",
  "wildcards of SQL": "a%b_c",
  "wildcards of NATS": "a.*.>",
  quotes: `'"\`\\`,
  "an encoded part": "jwt:https:%2f%2flogin.example#anna",
  "a dollar": "$KV.a",
  "512 characters": "k".repeat(512),
};

function testValues(under: StoreUnderTest): void {
  describe("values", () => {
    it.each(Object.entries(TEXTS))("are texts: %s", async (_name, text) => {
      const bucket = fresh();
      const rev = await under.driver.put(bucket, "key", text);
      expect(await under.driver.get(bucket, "key")).toEqual({ value: text, rev });
    });

    it.each(Object.entries(KEYS))("are under any key: %s", async (_name, key) => {
      const bucket = fresh();
      await under.driver.put(bucket, key, "here");
      await under.driver.put(bucket, `${key.slice(0, -1)}?`, "not here");
      expect((await under.driver.get(bucket, key))?.value).toBe("here");
      expect(
        (await under.driver.list(bucket, { prefix: key, limit: 2 })).map((each) => each.key),
      ).toEqual([key]);
      expect(await under.driver.delete(bucket, key)).toBe(true);
      expect(await under.driver.get(bucket, key)).toBeUndefined();
    });

    it("are absent in a bucket and under a key that nobody wrote", async () => {
      const bucket = fresh();
      expect(await under.driver.get(bucket, "key")).toBeUndefined();
      await under.driver.put(bucket, "key", "here");
      expect(await under.driver.get(bucket, "Key")).toBeUndefined();
      expect(await under.driver.get(`${bucket}/`, "key")).toBeUndefined();
    });

    it("have revisions that rise, whatever the key and the bucket", async () => {
      const buckets = [fresh(), fresh()];
      const revs: number[] = [];
      for (let step = 0; step < 20; step++)
        revs.push((await under.driver.put(buckets[step % 2]!, `key${step % 3}`, "v"))!);
      expect(revs).toEqual([...new Set(revs)].toSorted((left, right) => left - right));
    });

    it("keep rising after a deletion, so that an old revision never fits again", async () => {
      const bucket = fresh();
      const first = (await under.driver.put(bucket, "key", "1"))!;
      await under.driver.delete(bucket, "key");
      const second = (await under.driver.put(bucket, "key", "2", { rev: 0 }))!;
      expect(second).toBeGreaterThan(first);
      expect(await under.driver.put(bucket, "key", "3", { rev: first })).toBeUndefined();
    });

    it("are written over only with the right revision", async () => {
      const bucket = fresh();
      expect(await under.driver.put(bucket, "key", "no", { rev: 1 })).toBeUndefined();
      const rev = (await under.driver.put(bucket, "key", "one", { rev: 0 }))!;
      expect(await under.driver.put(bucket, "key", "no", { rev: 0 })).toBeUndefined();
      expect(await under.driver.put(bucket, "key", "no", { rev: rev - 1 })).toBeUndefined();
      expect(await under.driver.put(bucket, "key", "no", { rev: rev + 1 })).toBeUndefined();
      const next = await under.driver.put(bucket, "key", "two", { rev });
      expect(await under.driver.get(bucket, "key")).toEqual({ value: "two", rev: next });
    });

    it("are deleted only with the right revision", async () => {
      const bucket = fresh();
      expect(await under.driver.delete(bucket, "key")).toBe(false);
      const rev = (await under.driver.put(bucket, "key", "one"))!;
      expect(await under.driver.delete(bucket, "key", rev - 1)).toBe(false);
      expect(await under.driver.delete(bucket, "key", rev)).toBe(true);
      expect(await under.driver.delete(bucket, "key", rev)).toBe(false);
    });

    it("have one winner where many write over one revision", async () => {
      const bucket = fresh();
      const rev = await under.driver.put(bucket, "key", "0");
      const writes = Array.from({ length: 16 }, (_, index) =>
        under.driver.put(bucket, "key", `${index}`, { rev }),
      );
      const won = (await Promise.all(writes)).filter((each) => each !== undefined);
      expect(won).toHaveLength(1);
      expect((await under.driver.get(bucket, "key"))?.rev).toBe(won[0]);
    });

    it("have one winner where many create", async () => {
      const bucket = fresh();
      const writes = Array.from({ length: 16 }, (_, index) =>
        under.driver.put(bucket, "key", `${index}`, { rev: 0 }),
      );
      expect((await Promise.all(writes)).filter((each) => each !== undefined)).toHaveLength(1);
    });

    it("lose no step of many counters", async () => {
      const bucket = fresh();
      const step = async (): Promise<void> => {
        for (;;) {
          const there = await under.driver.get(bucket, "count");
          const next = String(Number(there?.value ?? 0) + 1);
          if (
            (await under.driver.put(bucket, "count", next, { rev: there?.rev ?? 0 })) !== undefined
          )
            return;
        }
      };
      await Promise.all(Array.from({ length: 24 }, step));
      expect((await under.driver.get(bucket, "count"))?.value).toBe("24");
    });
  });

  describe("values that end", () => {
    const past = (): number => Date.now() - 1;
    const soon = (): number => Date.now() + 150;

    it("are absent at once for every read", async () => {
      const bucket = fresh();
      await under.driver.put(bucket, "key", "gone", { until: past() });
      expect(await under.driver.get(bucket, "key")).toBeUndefined();
      expect(await under.driver.list(bucket, { prefix: "", limit: 9 })).toEqual([]);
      expect(await under.driver.delete(bucket, "key")).toBe(false);
    });

    it("can be created again, and are not written over by their revision", async () => {
      const bucket = fresh();
      const rev = await under.driver.put(bucket, "key", "gone", { until: past() });
      expect(await under.driver.put(bucket, "key", "no", { rev })).toBeUndefined();
      expect(await under.driver.put(bucket, "key", "new", { rev: 0 })).toBeGreaterThan(rev!);
    });

    it("are there until then", async () => {
      const bucket = fresh();
      await under.driver.put(bucket, "key", "soon gone", { until: soon() });
      expect((await under.driver.get(bucket, "key"))?.value).toBe("soon gone");
      await vi.waitFor(
        async () => expect(await under.driver.get(bucket, "key")).toBeUndefined(),
        5_000,
      );
    });

    it("last longer, or forever, when they are written again", async () => {
      const bucket = fresh();
      await under.driver.put(bucket, "longer", "1", { until: soon() });
      await under.driver.put(bucket, "forever", "1", { until: soon() });
      await under.driver.put(bucket, "mark", "1", { until: soon() });
      await under.driver.put(bucket, "longer", "2", { until: Date.now() + 60_000 });
      await under.driver.put(bucket, "forever", "2");
      await vi.waitFor(
        async () => expect(await under.driver.get(bucket, "mark")).toBeUndefined(),
        5_000,
      );
      const left = await under.driver.list(bucket, { prefix: "", limit: 9 });
      expect(left.map(({ key, value }) => [key, value])).toEqual([
        ["forever", "2"],
        ["longer", "2"],
      ]);
    });
  });
}

function testLists(under: StoreUnderTest): void {
  describe("lists", () => {
    const names = ["a", "a/1", "a/10", "a/2", "a0", "b/1", "B", "_", "~", "%2f", "a%", "a_"];
    const sorted = names.toSorted();
    const bucket = fresh();
    beforeAll(async () => {
      for (const name of names) await under.driver.put(bucket, name, `value of ${name}`);
      await under.driver.put(`${bucket}x`, "a/3", "of another bucket");
    });
    const keys = async (prefix: string, after?: string, limit = 100): Promise<string[]> =>
      (await under.driver.list(bucket, { prefix, after, limit })).map(({ key }) => key);

    it.each(["", "a", "a/", "a/1", "a%", "a_", "%", "_", "~", "b/", "nothing", "a/100"])(
      "have the keys that begin with %j, in order",
      async (prefix) => {
        expect(await keys(prefix)).toEqual(sorted.filter((name) => name.startsWith(prefix)));
      },
    );

    it.each(["!", "a", "a/1", "a/15", "z", "~"])("go on behind %j", async (after) => {
      expect(await keys("", after)).toEqual(sorted.filter((name) => name > after));
      expect(await keys("a/", after)).toEqual(
        sorted.filter((name) => name.startsWith("a/") && name > after),
      );
    });

    it.each([1, 2, 5, 12])("have at most %i entries", async (limit) => {
      expect(await keys("", undefined, limit)).toEqual(sorted.slice(0, limit));
    });

    it("have values and revisions", async () => {
      const [entry] = await under.driver.list(bucket, { prefix: "b/1", limit: 1 });
      expect(entry).toEqual({ key: "b/1", ...(await under.driver.get(bucket, "b/1")) });
    });

    it("of a bucket that nobody wrote are empty", async () => {
      expect(await under.driver.list(fresh(), { prefix: "", limit: 9 })).toEqual([]);
    });

    it("hold 1,000 entries, read in pages", async () => {
      const many = fresh();
      const made = Array.from(
        { length: 1_000 },
        (_, index) => `key/${String(index).padStart(4, "0")}`,
      );
      for (let begin = 0; begin < made.length; begin += 50)
        await Promise.all(
          made.slice(begin, begin + 50).map((key) => under.driver.put(many, key, "v")),
        );
      const read: string[] = [];
      for (let after: string | undefined; ;) {
        const page = await under.driver.list(many, { prefix: "key/", after, limit: 128 });
        read.push(...page.map(({ key }) => key));
        if (page.length < 128) break;
        after = page.at(-1)!.key;
      }
      expect(read).toEqual(made);
    });
  });
}

function testChanges(under: StoreUnderTest): void {
  describe("changes", () => {
    it("are told after they can be read: of writes, deletions and creations", async () => {
      const bucket = fresh();
      const seen = new Map<string, Promise<string | undefined>>();
      const stop = await under.driver.watch(bucket, (key) => {
        if (key !== undefined)
          seen.set(
            key,
            under.driver.get(bucket, key).then((there) => there?.value),
          );
      });
      await under.driver.put(bucket, "put", "1");
      await under.driver.put(bucket, "made", "2", { rev: 0 });
      await under.driver.put(bucket, "deleted", "3");
      await vi.waitFor(
        () => expect([...seen.keys()].toSorted()).toEqual(["deleted", "made", "put"]),
        5_000,
      );
      expect(await seen.get("made")).toBe("2");
      seen.delete("deleted");
      await under.driver.delete(bucket, "deleted");
      await vi.waitFor(() => expect(seen.has("deleted")).toBe(true), 5_000);
      expect(await seen.get("deleted")).toBeUndefined();
      await stop();
    });

    it("are not told of other buckets, of refused writes, nor after the end", async () => {
      const bucket = fresh();
      const told: (string | undefined)[] = [];
      const stop = await under.driver.watch(bucket, (key) => told.push(key));
      await under.driver.put(`${bucket}x`, "other", "1");
      await under.driver.put(bucket, "refused", "1", { rev: 7 });
      await under.driver.delete(bucket, "nothing");
      await under.driver.put(bucket, "last", "1");
      await vi.waitFor(() => expect(told).toEqual(["last"]), 5_000);
      await stop();
      await stop();
      const again: (string | undefined)[] = [];
      const stopAgain = await under.driver.watch(bucket, (key) => again.push(key));
      await under.driver.put(bucket, "later", "1");
      await vi.waitFor(() => expect(again).toEqual(["later"]), 5_000);
      expect(told).toEqual(["last"]);
      await stopAgain();
    });

    it("are told to everyone who watches", async () => {
      const bucket = fresh();
      const told: string[] = [];
      const stops = await Promise.all(
        ["a", "b", "c"].map((name) => under.driver.watch(bucket, () => told.push(name))),
      );
      await under.driver.put(bucket, "key", "1");
      await vi.waitFor(() => expect(told.toSorted()).toEqual(["a", "b", "c"]), 5_000);
      for (const stop of stops) await stop();
    });
  });
}

function testLogs(under: StoreUnderTest): void {
  describe("logs", () => {
    it("give back what was added, in order, with rising places and times", async () => {
      const log = fresh();
      const before = Date.now() - 1_000;
      const last = await under.driver.append(log, ["a", "b"]);
      const next = await under.driver.append(log, ["c"]);
      const entries = await under.driver.read(log, 0, 10);
      expect(entries.map(({ value }) => value)).toEqual(["a", "b", "c"]);
      expect(entries[1]!.seq).toBe(last);
      expect(entries[2]!.seq).toBe(next);
      expect(entries[0]!.seq).toBeLessThan(entries[1]!.seq);
      expect(entries[0]!.at).toBeGreaterThan(before);
      expect(entries[2]!.at).toBeLessThan(Date.now() + 1_000);
    });

    it.each(Object.entries(TEXTS).filter(([name]) => !name.includes("4 MB")))(
      "hold any text: %s",
      async (_name, text) => {
        const log = fresh();
        await under.driver.append(log, [text, "behind"]);
        expect((await under.driver.read(log, 0, 2)).map(({ value }) => value)).toEqual([
          text,
          "behind",
        ]);
      },
    );

    it("are read from a place on, so many at a time", async () => {
      const log = fresh();
      for (let step = 0; step < 10; step++) await under.driver.append(log, [`${step}`]);
      const all = await under.driver.read(log, 0, 100);
      expect(await under.driver.read(log, 0, 3)).toEqual(all.slice(0, 3));
      expect(await under.driver.read(log, all[2]!.seq, 3)).toEqual(all.slice(3, 6));
      expect(await under.driver.read(log, all[9]!.seq, 3)).toEqual([]);
      expect(await under.driver.read(fresh(), 0, 3)).toEqual([]);
    });

    it("keep what many add at once, each in its own order", async () => {
      const log = fresh();
      const writer = async (name: string): Promise<void> => {
        for (let step = 0; step < 10; step++)
          await under.driver.append(log, [`${name}${step}`, `${name}${step}'`]);
      };
      await Promise.all(["a", "b", "c", "d"].map(writer));
      const values = (await under.driver.read(log, 0, 100)).map(({ value }) => value);
      expect(values).toHaveLength(80);
      for (const name of ["a", "b", "c", "d"])
        expect(values.filter((value) => value.startsWith(name))).toEqual(
          Array.from({ length: 10 }, (_, step) => [`${name}${step}`, `${name}${step}'`]).flat(),
        );
    });

    it("keep the newest so many", async () => {
      const log = fresh();
      await under.driver.append(log, ["a", "b", "c", "d", "e"]);
      await under.driver.trim(log, { maxEntries: 2 });
      expect((await under.driver.read(log, 0, 9)).map(({ value }) => value)).toEqual(["d", "e"]);
      await under.driver.trim(log, { maxEntries: 9 });
      expect(await under.driver.read(log, 0, 9)).toHaveLength(2);
    });

    it("drop what is too old", async () => {
      const log = fresh();
      await under.driver.append(log, ["old"]);
      const [old] = await under.driver.read(log, 0, 1);
      await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(old!.at + 5), 5_000);
      await under.driver.append(log, ["new"]);
      await under.driver.trim(log, { maxEntries: 9, before: old!.at + 1 });
      expect((await under.driver.read(log, 0, 9)).map(({ value }) => value)).toEqual(["new"]);
      await under.driver.trim(log, { maxEntries: 9, before: Date.now() + 60_000 });
      expect(await under.driver.read(log, 0, 9)).toEqual([]);
    });

    it("go on behind their last place after all was dropped", async () => {
      const log = fresh();
      const last = await under.driver.append(log, ["a"]);
      await under.driver.trim(log, { maxEntries: 0 });
      expect(await under.driver.append(log, ["b"])).toBeGreaterThan(last);
    });

    it("are apart from each other", async () => {
      const log = fresh();
      await under.driver.append(log, ["here"]);
      await under.driver.append(`${log}x`, ["there"]);
      await under.driver.trim(`${log}x`, { maxEntries: 0 });
      expect((await under.driver.read(log, 0, 9)).map(({ value }) => value)).toEqual(["here"]);
    });

    it("tell who follows, until the end", async () => {
      const log = fresh();
      let told = 0;
      const stop = await under.driver.follow(log, () => void told++);
      await under.driver.append(log, ["a"]);
      await vi.waitFor(() => expect(told).toBeGreaterThan(0), 5_000);
      await stop();
      const before = told;
      let others = 0;
      const stopOther = await under.driver.follow(log, () => void others++);
      await under.driver.append(log, ["b"]);
      await vi.waitFor(() => expect(others).toBeGreaterThan(0), 5_000);
      expect(told).toBe(before);
      await stopOther();
    });
  });
}

function testTopics(under: StoreUnderTest): void {
  describe("topics", () => {
    it("carry messages to everyone, this gateway too, in order", async () => {
      const topic = fresh();
      const heard: string[][] = [[], []];
      const stops = await Promise.all(
        heard.map((list) => under.driver.subscribe(topic, (message) => list.push(message))),
      );
      const sent = Array.from({ length: 50 }, (_, index) => `message ${index}`);
      for (const message of sent) await under.driver.publish(topic, message);
      await vi.waitFor(() => expect(heard).toEqual([sent, sent]), 5_000);
      for (const stop of stops) await stop();
    });

    it.each(Object.entries(TEXTS).filter(([, text]) => text.length < 8_000))(
      "carry any text: %s",
      async (_name, text) => {
        const topic = fresh();
        const heard: string[] = [];
        const stop = await under.driver.subscribe(topic, (message) => heard.push(message));
        await under.driver.publish(topic, text);
        await vi.waitFor(() => expect(heard).toEqual([text]), 5_000);
        await stop();
      },
    );

    it("carry 8,000 bytes", async () => {
      const topic = fresh();
      const text = "ü".repeat(4_000);
      const heard: string[] = [];
      const stop = await under.driver.subscribe(topic, (message) => heard.push(message));
      await under.driver.publish(topic, text);
      await vi.waitFor(() => expect(heard).toEqual([text]), 5_000);
      await stop();
    });

    it("say nothing to others, nor after the end", async () => {
      const topic = fresh();
      const heard: string[] = [];
      const ended: string[] = [];
      const stopEnded = await under.driver.subscribe(topic, (message) => ended.push(message));
      await stopEnded();
      const stop = await under.driver.subscribe(topic, (message) => heard.push(message));
      await under.driver.publish(`${topic}x`, "other");
      await under.driver.publish(topic, "mine");
      await vi.waitFor(() => expect(heard).toEqual(["mine"]), 5_000);
      expect(ended).toEqual([]);
      await stop();
    });
  });
}

/** For a shared store by a second gateway at the same time; for one that is durable by the next one. */
function testAfterwards(under: StoreUnderTest): void {
  describe("another gateway", () => {
    it("finds everything", async (context) => {
      const { durable, shared } = under.driver;
      if (!durable && !shared) context.skip();
      const bucket = fresh();
      const rev = await under.driver.put(bucket, "key", "value");
      await under.driver.put(bucket, "ended", "value", { until: Date.now() - 1 });
      const seq = await under.driver.append(bucket, ["a", "b"]);
      if (!shared) await under.driver.close();
      const next = await under.open();
      expect(await next.get(bucket, "key")).toEqual({ value: "value", rev });
      expect(await next.get(bucket, "ended")).toBeUndefined();
      expect((await next.read(bucket, 0, 9)).map(({ value }) => value)).toEqual(["a", "b"]);
      expect(await next.put(bucket, "key", "next", { rev: rev! })).toBeGreaterThan(rev!);
      expect(await next.append(bucket, ["c"])).toBeGreaterThan(seq);
      if (shared) await next.close();
      else (under as { driver: StoreDriver }).driver = next;
    });

    it("hears of changes, entries and messages", async (context) => {
      if (!under.driver.shared) context.skip();
      const other = await under.open();
      const name = fresh();
      const heard = new Set<string>();
      await other.watch(name, () => heard.add("change"));
      await other.follow(name, () => heard.add("entry"));
      await other.subscribe(name, () => heard.add("message"));
      await under.driver.put(name, "key", "1");
      await under.driver.append(name, ["1"]);
      await under.driver.publish(name, "1");
      await vi.waitFor(
        () => expect([...heard].toSorted()).toEqual(["change", "entry", "message"]),
        5_000,
      );
      await other.close();
    });

    it("loses no step of one counter", async (context) => {
      if (!under.driver.shared) context.skip();
      const others = [under.driver, await under.open(), await under.open()];
      const bucket = fresh();
      const step = async (driver: StoreDriver): Promise<void> => {
        for (let done = 0; done < 20;) {
          const there = await driver.get(bucket, "count");
          const next = String(Number(there?.value ?? 0) + 1);
          if ((await driver.put(bucket, "count", next, { rev: there?.rev ?? 0 })) !== undefined)
            done++;
        }
      };
      await Promise.all(others.map(step));
      expect((await under.driver.get(bucket, "count"))?.value).toBe("60");
      for (const other of others.slice(1)) await other.close();
    });
  });
}
