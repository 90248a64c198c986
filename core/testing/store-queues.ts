import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GatewayStore } from "../store/gateway-store.ts";
import type { QueueDelivery, WorkQueue } from "../store/driver.ts";
import { joinStore, part, type StoreUnderTest } from "./store-under-test.ts";

/** Shorter than any that is measured: what comes again within it has not waited. */
const AT_ONCE_MS = 300;

/** Work that waits, of a store that hands it out. */
export function testQueues(under: StoreUnderTest): void {
  describe("work that is given back", () => {
    let gateway: GatewayStore;
    let queue: WorkQueue;
    const over = AbortSignal.timeout(120_000);

    beforeAll(async () => {
      gateway = await joinStore(under.driver);
    });
    afterAll(() => gateway.close());

    /** Gives one piece back, and resolves with how long it took to come again, in milliseconds. */
    const waited = async (delay: number): Promise<number> => {
      queue = gateway.scope("tests").queue(part());
      await queue.add({ key: "piece", group: "group", size: 1 }, "text");
      (await take()).giveBack(delay);
      const begun = performance.now();
      const again = await take();
      const took = performance.now() - begun;
      await again.ack();
      return took;
    };
    const take = async (): Promise<QueueDelivery> => {
      for (;;) {
        const delivery = await queue.next(over);
        if (delivery) return delivery;
        over.throwIfAborted();
      }
    };

    it.for([700, 700.5, 1_234.567_891_2, Math.PI * 250])(
      "waits for the whole of a delay of %s ms",
      async (delay, context) => {
        if (!under.driver.queue) context.skip();
        expect(await waited(delay)).toBeGreaterThanOrEqual(delay - 5);
      },
    );

    it("is of its own queue, whatever key another has", async (context) => {
      if (!under.driver.queue) context.skip();
      for (const text of ["first", "second"]) {
        queue = gateway.scope("tests").queue(part());
        await queue.add({ key: "alike", group: "group", size: 1 }, text);
        const delivery = await take();
        expect(delivery.text).toBe(text);
        await delivery.ack();
      }
    });

    it("comes again at once without a delay", async (context) => {
      if (!under.driver.queue) context.skip();
      // A busy machine may be late once.
      const times = [await waited(0), await waited(0), await waited(0)];
      expect(Math.min(...times)).toBeLessThan(AT_ONCE_MS);
    });

    it.for([Number.NaN, Number.POSITIVE_INFINITY, -1])(
      "refuses a delay of %s",
      async (delay, context) => {
        if (!under.driver.queue) context.skip();
        queue = gateway.scope("tests").queue(part());
        await queue.add({ key: "piece", group: "group", size: 1 }, "text");
        const delivery = await take();
        expect(() => delivery.giveBack(delay)).toThrow("A delay cannot be");
        await delivery.ack();
      },
    );
  });
}
