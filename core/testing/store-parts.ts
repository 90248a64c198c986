import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { GatewayError } from "../kit/errors.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import { Records } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { collect, joinStore, part, type StoreUnderTest } from "./store-under-test.ts";

/** What plugins get, over the driver under test. */
export function testStoreParts(under: StoreUnderTest): void {
  let gateway: GatewayStore;
  let store: Store;

  beforeAll(async () => {
    gateway = await joinStore(under.driver);
    store = gateway.scope("tests");
  });
  afterAll(() => gateway.close());

  describe("values of a plugin", () => {
    it("are JSON", async () => {
      const kv = store.kv<unknown>(part());
      const value = { text: "Grüße \u0000 👋", list: [1, null, { deep: true }], none: null };
      const rev = await kv.put("key", value);
      expect(await kv.get("key")).toEqual({ key: "key", value, rev });
    });

    it("are apart from those of another plugin", async () => {
      const name = part();
      await store.kv(name).put("key", 1);
      expect(await gateway.scope("others").kv(name).get("key")).toBeUndefined();
    });

    it("are created, updated and deleted by their revision", async () => {
      const kv = store.kv<number>(part());
      const rev = (await kv.create("key", 1))!;
      expect(await kv.create("key", 2)).toBeUndefined();
      const next = (await kv.update("key", 3, rev))!;
      expect(await kv.update("key", 4, rev)).toBeUndefined();
      expect(await kv.delete("key", rev)).toBe(false);
      expect(await kv.delete("key", next)).toBe(true);
    });

    it("that the schema refuses are left alone and count as absent", async () => {
      const name = part();
      await store.kv(name).put("wrong", { count: "many" });
      await store.kv(name).put("right", { count: 1 });
      const kv = store.kv(name, { schema: z.strictObject({ count: z.number() }) });
      expect(await kv.get("wrong")).toBeUndefined();
      expect((await collect(kv.list())).map(({ key }) => key)).toEqual(["right"]);
      expect(await store.kv(name).get("wrong")).toBeDefined();
    });

    it("of a later version are neither shown nor replaced", async () => {
      const name = part();
      await store.kv(name, { version: 2 }).put("key", "new form");
      const older = store.kv(name, { version: 1 });
      expect(await older.get("key")).toBeUndefined();
      await expect(older.put("key", "old form")).rejects.toMatchObject({ code: "exists" });
      expect(await older.create("key", "old form")).toBeUndefined();
      const change = older.change("key", () => "old form");
      await expect(change).rejects.toMatchObject({ code: "exists" });
      expect((await store.kv(name, { version: 3 }).get("key"))?.value).toBe("new form");
    });

    it("of a later version are not replaced by one that names no version", async () => {
      const name = part();
      await store.kv(name, { version: 2 }).put("key", "new form");
      await expect(store.kv(name).put("key", "old form")).rejects.toMatchObject({ code: "exists" });
      expect((await store.kv(name, { version: 2 }).get("key"))?.value).toBe("new form");
    });

    it("keep the fields that only a later gateway knows, where an older one writes over them", async () => {
      const name = part();
      const newer = store.kv<unknown>(name);
      const older = store.kv(name, {
        schema: z.object({ on: z.boolean(), who: z.object({ name: z.string() }).exactOptional() }),
      });
      const first = { on: true, since: 7, who: { name: "ada", team: "red" } };
      await newer.put("put", first);
      await older.put("put", { on: false, who: { name: "eve" } });
      expect((await newer.get("put"))?.value).toEqual({
        on: false,
        since: 7,
        who: { name: "eve", team: "red" },
      });
      // What the older removes as a whole does not stay in parts.
      await older.put("put", { on: true });
      expect((await newer.get("put"))?.value).toEqual({ on: true, since: 7 });
      await newer.put("update", first);
      const { rev } = (await older.get("update"))!;
      const next = await older.update("update", { on: false }, rev);
      expect((await newer.get("update"))?.value).toEqual({ on: false, since: 7 });
      expect(await older.update("update", { on: true }, rev)).toBeUndefined();
      expect(await older.update("update", { on: true }, next!)).toBeGreaterThan(next!);
      expect((await newer.get("update"))?.value).toEqual({ on: true, since: 7 });
    });

    it("put at once by many are one of them, with what only the later gateway knows", async () => {
      const name = part();
      const newer = store.kv<{ n: number; since?: number }>(name);
      const older = store.kv(name, { schema: z.object({ n: z.number() }) });
      await newer.put("key", { n: 0, since: 7 });
      await Promise.all(Array.from({ length: 20 }, (_, n) => older.put("key", { n })));
      expect((await newer.get("key"))?.value).toEqual({ n: expect.any(Number), since: 7 });
    });

    it("end after their ttl", async () => {
      const kv = store.kv<number>(part(), { ttl: 100 });
      await kv.put("key", 1);
      await vi.waitFor(async () => expect(await kv.get("key")).toBeUndefined(), 5_000);
    });

    it.each([
      ["a key with a space", "a b", "invalid"],
      ["an empty key", "", "invalid"],
      ["a key of 513 characters", "k".repeat(513), "too_large"],
      ["a key beyond ASCII", "ä", "invalid"],
    ])("are refused under %s", async (_name, key, code) => {
      const kv = store.kv<number>(part());
      await expect(kv.put(key, 1)).rejects.toMatchObject({ code });
      await expect(kv.get(key)).rejects.toMatchObject({ code });
    });

    it("above 32 MiB are refused", async () => {
      await expect(store.kv(part()).put("key", "x".repeat(32 * 1024 * 1024))).rejects.toMatchObject(
        {
          code: "too_large",
        },
      );
    });

    it.each(["", "a b", "x".repeat(65), "ä"])("are refused in a bucket named %j", (name) => {
      expect(() => store.kv(name)).toThrow(GatewayError);
    });

    it("are changed by many at once without a change lost", async () => {
      const kv = store.kv<number>(part());
      const add = (count = 0): number => count + 1;
      const all = await Promise.all(Array.from({ length: 12 }, () => kv.change("n", add)));
      expect(all.toSorted((left, right) => left! - right!)).toEqual(all.map((_, at) => at + 1));
      expect((await kv.get("n"))?.value).toBe(12);
    });

    it("that cannot be read are changed as if nothing was there", async () => {
      const name = part();
      await store.kv(name).put("n", "no number");
      const kv = store.kv(name, { schema: z.number() });
      expect(await kv.change("n", (count = 0) => count + 1)).toBe(1);
      expect((await kv.get("n"))?.value).toBe(1);
    });

    it("are changed to nothing, or not at all", async () => {
      const kv = store.kv<{ count: number }>(part());
      expect(await kv.change("n", () => undefined)).toBeUndefined();
      const rev = await kv.put("n", { count: 1 });
      const same = await kv.change("n", (before) => before);
      expect([same, (await kv.get("n"))?.rev]).toEqual([{ count: 1 }, rev]);
      const fail = (): never => {
        throw new Error("not this one");
      };
      await expect(kv.change("n", fail)).rejects.toThrow("not this one");
      expect(await kv.change("n", () => undefined)).toBeUndefined();
      expect(await kv.get("n")).toBeUndefined();
    });

    it("are watched: what is there, then every change, the last always", async () => {
      const kv = store.kv<number>(part());
      await kv.put("a/1", 1);
      await kv.put("b/1", 1);
      const told: [string, number | undefined][] = [];
      const stop = await kv.watch("a/", (key, entry) => told.push([key, entry?.value]));
      expect(told).toEqual([["a/1", 1]]);
      for (let step = 2; step <= 20; step++) await kv.put("a/1", step);
      await kv.put("b/1", 2);
      await kv.put("a/2", 7);
      await vi.waitFor(() => expect(told).toContainEqual(["a/2", 7]), 5_000);
      await vi.waitFor(() => expect(told).toContainEqual(["a/1", 20]), 5_000);
      await kv.delete("a/2");
      await vi.waitFor(() => expect(told.at(-1)).toEqual(["a/2", undefined]), 5_000);
      expect(told.filter(([key]) => key === "b/1")).toEqual([]);
      const values = told.flatMap(([key, value]) => (key === "a/1" ? [value!] : []));
      expect(values).toEqual(values.toSorted((left, right) => left - right));
      await stop();
    });

    it("tell the keys of changes, and nothing of what is there", async () => {
      const kv = store.kv<number>(part());
      const early: (string | undefined)[] = [];
      const stopEarly = await kv.watchKeys((key) => early.push(key));
      await kv.put("before", 1);
      // A notice may arrive behind the answer to its change.
      await vi.waitFor(() => expect(early).toContain("before"), 5_000);
      const told: (string | undefined)[] = [];
      const stop = await kv.watchKeys((key) => told.push(key));
      await kv.put("a", 1);
      await kv.delete("a");
      await kv.put("b", 1);
      await vi.waitFor(() => expect(told).toContain("b"), 5_000);
      expect(told).toContain("a");
      expect(told).not.toContain("before");
      await Promise.all([stop(), stopEarly()]);
    });
  });

  describe("records of a plugin", () => {
    const signal = new AbortController().signal;
    const kept = (): boolean => store.durable || store.shared;

    it("follow what is in memory, the latest state last", async (context) => {
      if (!kept()) context.skip();
      const name = part();
      const records = new Records<number>(store, name, { signal });
      let state = 0;
      const saves: Promise<void>[] = [];
      for (state = 1; state <= 50; state++) saves.push(records.save("key", () => state));
      await Promise.all(saves);
      expect((await store.kv<number>(name).get("key"))?.value).toBe(51);
      expect(records.isSettled).toBe(true);
    });

    it("are loaded, and go on from there", async (context) => {
      if (!kept()) context.skip();
      const name = part();
      await new Records<number>(store, name, { signal }).save("key", () => 1);
      const next = new Records<number>(store, name, { signal });
      expect((await collect(next.load())).map(({ key, value }) => [key, value])).toEqual([
        ["key", 1],
      ]);
      await next.save("key", () => 2);
      await next.delete("key");
      expect(await collect(store.kv(name).list())).toEqual([]);
    });

    it("of another replica are not written over", async (context) => {
      if (!kept()) context.skip();
      const name = part();
      const mine = new Records<{ by: string }>(store, name, {
        signal,
        owns: ({ by }) => by === "me",
      });
      await mine.save("key", () => ({ by: "me" }));
      await store.kv<{ by: string }>(name).put("key", { by: "other" });
      await expect(mine.save("key", () => ({ by: "me" }))).rejects.toMatchObject({
        code: "exists",
      });
      expect((await store.kv<{ by: string }>(name).get("key"))?.value).toEqual({ by: "other" });
    });

    it("cost nothing where nothing is kept", async (context) => {
      if (kept()) context.skip();
      const records = new Records<number>(store, part(), { signal });
      await records.save("key", () => expect.unreachable());
      expect(await collect(records.load())).toEqual([]);
    });
  });

  describe("logs of a plugin", () => {
    it("are read in pages and followed", async () => {
      const visits = store.log<number>(part(), { maxEntries: 1_000 });
      await visits.append(1, 2, 3);
      const [first] = await visits.read({ limit: 1 });
      expect((await visits.read({ after: first!.seq })).map(({ value }) => value)).toEqual([2, 3]);
      const told: number[] = [];
      const stop = await visits.follow(first!.seq, ({ value }) => told.push(value));
      expect(told).toEqual([2, 3]);
      for (let step = 4; step <= 20; step++) await visits.append(step);
      await vi.waitFor(
        () => expect(told).toEqual(Array.from({ length: 19 }, (_, index) => index + 2)),
        5_000,
      );
      await stop();
    });

    it("stay within their bound", async () => {
      const visits = store.log<number>(part(), { maxEntries: 10 });
      for (let step = 0; step < 100; step++) await visits.append(step);
      const values = (await visits.read({ limit: 100 })).map(({ value }) => value);
      expect(values.length).toBeLessThanOrEqual(12);
      expect(values.at(-1)).toBe(99);
    });

    it("show nothing that is too old", async () => {
      const visits = store.log<number>(part(), { maxEntries: 10, maxAge: 100 });
      await visits.append(1);
      await vi.waitFor(async () => expect(await visits.read()).toEqual([]), 5_000);
    });
  });

  describe("meters", () => {
    it("give no more than they hold, then fill", async () => {
      const meter = store.meter(part(), { burst: 10, interval: 3_600_000 });
      expect(await meter.take(4)).toEqual({ taken: 4, retryAfter: 0 });
      expect((await meter.take(40)).taken).toBe(6);
      const empty = await meter.take(1);
      expect(empty.taken).toBe(0);
      expect(empty.retryAfter).toBeGreaterThan(300_000);
      expect(empty.retryAfter).toBeLessThanOrEqual(360_000);
      await meter.give(3);
      expect((await meter.take(9)).taken).toBe(3);
    });

    it("give the same tokens to nobody twice", async () => {
      const name = part();
      const meters = Array.from({ length: 4 }, () =>
        store.meter(name, { burst: 50, interval: 3_600_000 }),
      );
      const takes = meters.flatMap((meter) => Array.from({ length: 10 }, () => meter.take(2)));
      const taken = (await Promise.all(takes)).reduce((sum, each) => sum + each.taken, 0);
      expect(taken).toBe(50);
    });

    it("fill with time", async () => {
      const meter = store.meter(part(), { burst: 10, interval: 500 });
      await meter.take(10);
      await vi.waitFor(async () => expect((await meter.take(1)).taken).toBe(1), 5_000);
    });
  });
}
