import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { StoreDriver } from "../store/driver.ts";
import { fresh, type StoreUnderTest } from "./store-under-test.ts";
import { testChanges, testLogs, testTopics } from "./store-changes.ts";
import { testStoreGateways } from "./store-replicas.ts";
import { testStoreModel } from "./store-model.ts";
import { testStoreParts } from "./store-parts.ts";
import { testQueues } from "./store-queues.ts";
import { testLists, testValues } from "./store-values.ts";

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
    testQueues(under);
    testStoreGateways(under);
    testStoreModel(
      under,
      suite.steps ?? 2_000,
      suite.seed ?? Math.floor(Math.random() * 0x8000_0000),
    );
    testAfterwards(under);
  });
}

/** For a shared store by a second replica at the same time; for one that is durable by the next one. */
function testAfterwards(under: StoreUnderTest): void {
  describe("another replica", () => {
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
