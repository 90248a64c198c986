import { describe, expect, it, vi } from "vitest";
import { fresh, TEXTS, type StoreUnderTest } from "./store-under-test.ts";

/** What a watcher of a bucket is told. */
export function testChanges(under: StoreUnderTest): void {
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

/** Entries in order: added, read, followed and dropped. */
export function testLogs(under: StoreUnderTest): void {
  describe("logs", () => {
    it("give back many that were added at once in their order, the last at the place that was told", async () => {
      const log = fresh();
      const values = Array.from({ length: 123 }, (_, each) => `entry ${each}`);
      const last = await under.driver.append(log, values);
      const entries = await under.driver.read(log, 0, 200);
      expect(entries.map(({ value }) => value)).toEqual(values);
      expect(entries.at(-1)!.seq).toBe(last);
    });

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

/** Messages to everyone who listens. */
export function testTopics(under: StoreUnderTest): void {
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
