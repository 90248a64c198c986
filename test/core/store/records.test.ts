import fc from "fast-check";
import { pino } from "pino";
import { Records, type Store } from "propylon/store";
import { describe, expect, it } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

const log = pino({ level: "silent" });
const { signal } = new AbortController();

/** A durable store whose writes take some turns each. */
class SlowDriver extends MemoryDriver {
  override readonly durable = true as false;
  readonly #turns: () => number;

  constructor(turns: () => number) {
    super();
    this.#turns = turns;
  }

  override async put(...args: Parameters<MemoryDriver["put"]>) {
    await this.#wait();
    const rev = await super.put(...args);
    await this.#wait();
    return rev;
  }

  override async delete(...args: Parameters<MemoryDriver["delete"]>) {
    await this.#wait();
    return super.delete(...args);
  }

  async #wait(): Promise<void> {
    for (let turn = this.#turns(); turn > 0; turn--)
      await new Promise((resolve) => void setImmediate(resolve));
  }
}

function storeOver(driver: MemoryDriver): Store {
  return new GatewayStore(driver, log).scope("tests");
}

describe("records", () => {
  it("hold the last of any saves and deletions, however they overlap", async () => {
    const steps = fc.array(
      fc.record({
        key: fc.constantFrom("a", "b"),
        isSave: fc.boolean(),
        wait: fc.nat(3),
        turns: fc.nat(4),
      }),
      { minLength: 1, maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        let at = 0;
        const store = storeOver(new SlowDriver(() => list[at++ % list.length]!.turns));
        const records = new Records<number>(store, "things", { signal });
        const wanted = new Map<string, number>();
        const work: Promise<void>[] = [];
        for (const [index, { key, isSave, wait }] of list.entries()) {
          work.push(isSave ? records.save(key, () => index) : records.delete(key));
          if (isSave) wanted.set(key, index);
          else wanted.delete(key);
          for (let turn = 0; turn < wait; turn++)
            await new Promise((resolve) => void setImmediate(resolve));
        }
        await Promise.all(work);
        const there = new Map<string, number>();
        for await (const { key, value } of store.kv<number>("things").list()) there.set(key, value);
        expect(there).toEqual(wanted);
      }),
      { numRuns: 200 },
    );
  });

  it("do not write over what they cannot read", async () => {
    const store = storeOver(new SlowDriver(() => 0));
    await store.kv("things", { version: 2 }).put("key", "of a later gateway");
    const records = new Records<string>(store, "things", { signal });
    await expect(records.save("key", () => "of this one")).rejects.toMatchObject({
      code: "exists",
    });
    expect((await store.kv("things", { version: 2 }).get("key"))?.value).toBe("of a later gateway");
  });

  it("follow what is another gateway's no longer, and what was never written", async () => {
    const driver = new SlowDriver(() => 0);
    const store = storeOver(driver);
    const records = new Records<string>(store, "things", { signal, owns: () => false });
    await store.kv("things").put("taken", "by another");
    await expect(records.save("taken", () => "of this one")).rejects.toMatchObject({
      code: "exists",
    });
    driver.put = () => Promise.reject(new Error("away"));
    await expect(records.save("new", () => "of this one")).rejects.toMatchObject({
      code: "unavailable",
    });
    expect([records.has("taken"), records.has("new")]).toEqual([false, false]);
  });
});
