import { beforeAll, describe, expect, it, vi } from "vitest";
import { fresh, TEXTS, type StoreUnderTest } from "./store-under-test.ts";

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

/** Values of a driver: what they are, who writes over them, when they end. */
export function testValues(under: StoreUnderTest): void {
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

/** Values in the order of their keys, a page at a time. */
export function testLists(under: StoreUnderTest): void {
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
