import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { GatewayError } from "../kit/errors.ts";
import { isUnheard } from "../store/ask.ts";
import { GatewayStore } from "../store/gateway-store.ts";
import { storeKey } from "../store/store-key.ts";
import type { Store } from "../store/store.ts";
import {
  collect,
  joinStore,
  log,
  part,
  unclosed,
  type StoreUnderTest,
} from "./store-under-test.ts";

/** What the replicas of the same store have of each other: leases, messages and answers. */
export function testStoreGateways(under: StoreUnderTest): void {
  let gateway: GatewayStore;
  let store: Store;

  beforeAll(async () => {
    gateway = await joinStore(under.driver);
    store = gateway.scope("tests");
  });
  afterAll(() => gateway.close());

  describe("leases", () => {
    it("have one holder at a time, and fences that rise", async () => {
      const name = part();
      const fences: number[] = [];
      let holders = 0;
      const hold = async (): Promise<void> => {
        const lease = await store.lease(name, { ttl: 2_000 });
        expect(++holders).toBe(1);
        fences.push(lease.fence);
        await store.kv(name).put("work", lease.fence);
        holders--;
        await lease.release();
        await lease.release();
      };
      await Promise.all([hold(), hold(), hold(), hold()]);
      expect(fences).toHaveLength(4);
      expect(fences).toEqual([...new Set(fences)].toSorted((left, right) => left - right));
    });

    it("are renewed as long as they are held", { timeout: 30_000 }, async () => {
      const name = part();
      const lease = await store.lease(name, { ttl: 3_000 });
      const revOf = async (): Promise<number> =>
        (await under.driver.get("tests/leases", storeKey(name)))!.rev;
      await vi.waitFor(async () => expect(await revOf()).toBeGreaterThan(lease.fence), 10_000);
      const renewed = await revOf();
      await vi.waitFor(async () => expect(await revOf()).toBeGreaterThan(renewed), 10_000);
      expect(lease.signal.aborted).toBe(false);
      await lease.release();
    });

    it("are waited for until the signal aborts", async () => {
      const name = part();
      const lease = await store.lease(name, { ttl: 60_000 });
      const waiting = new AbortController();
      const second = store.lease(name, { ttl: 60_000, signal: waiting.signal });
      waiting.abort(new Error("enough"));
      await expect(second).rejects.toThrow("enough");
      await lease.release();
    });

    it("of a replica that is gone are taken over", async (context) => {
      if (!under.driver.shared) context.skip();
      const name = part();
      const dead = new GatewayStore(unclosed(under.driver), log);
      const first = await dead.scope("tests").lease(name, { ttl: 300 });
      await dead.close();
      const second = await store.lease(name, { ttl: 300 });
      expect(second.fence).toBeGreaterThan(first.fence);
      await second.release();
    });
  });

  describe("replicas of the same store", () => {
    it("know each other, and forget who left", async () => {
      expect((await store.replicas()).map(({ id }) => id)).toContain(store.replica);
      const second = new GatewayStore(unclosed(under.driver), log);
      await second.join();
      const { replica } = second.scope("tests");
      expect((await store.replicas()).map(({ id }) => id)).toContain(replica);
      const others = async (): Promise<string[]> => [...(await store.others())];
      expect(await others()).not.toContain(store.replica);
      expect((await others()).includes(replica)).toBe(store.shared);
      expect([await store.isThere(store.replica), await store.isThere(replica)]).toEqual([
        true,
        store.shared,
      ]);
      expect([await store.isThere(""), await store.isThere("no such replica")]).toEqual([
        false,
        false,
      ]);
      await second.close();
      expect((await store.replicas()).map(({ id }) => id)).not.toContain(replica);
      expect(await others()).not.toContain(replica);
      expect(await store.isThere(replica)).toBe(false);
    });

    it("send each other messages", async () => {
      const name = part();
      const heard: [string, string][] = [];
      const stop = await store
        .topic<string>(name)
        .subscribe((message, from) => heard.push([message, from]));
      await store.topic<string>(name).publish("hello");
      await vi.waitFor(() => expect(heard).toEqual([["hello", store.replica]]), 5_000);
      await expect(store.topic(name).publish("x".repeat(9_000))).rejects.toMatchObject({
        code: "too_large",
      });
      await stop();
    });

    it("are told what happens where a listener fails", async () => {
      const [topic, keys] = [store.topic<string>(part()), store.kv<string>(part())];
      const fail = (): never => {
        throw new Error("not understood");
      };
      const heard = new Set<unknown>();
      const stops = [
        await topic.subscribe(fail),
        await keys.watchKeys(fail),
        await topic.subscribe((message) => heard.add(message)),
        await keys.watchKeys((key) => heard.add(key)),
      ];
      for (const name of ["one", "two"]) {
        await topic.publish(`said ${name}`);
        await keys.put(name, "value");
        await vi.waitFor(() => expect([...heard]).toContain(`said ${name}`), 5_000);
        await vi.waitFor(() => expect([...heard]).toContain(name), 5_000);
      }
      for (const stop of stops) await stop();
    });

    const answering = async (
      handler: (body: never, signal: AbortSignal) => AsyncIterable<unknown>,
    ): Promise<{ replica: string; name: string }> => {
      // One that is not in any list of gateways counts as gone.
      const other = await joinStore(under.driver);
      onTestFinished(() => other.close());
      const scoped = other.scope("tests");
      const name = part();
      await scoped.answer(name, handler);
      return { replica: scoped.replica, name };
    };
    const signal = new AbortController().signal;

    /** A replica that answers when it is told to stop, which is too late. */
    const slow = async () => {
      const other = await joinStore(under.driver);
      const name = part();
      let isAsked = false;
      await other.scope("tests").answer(name, async function* (_: unknown, ended: AbortSignal) {
        isAsked = true;
        await new Promise((resolve) => ended.addEventListener("abort", resolve));
        yield "late";
      });
      const whenAsked = () => vi.waitFor(() => expect(isAsked).toBe(true), 5_000);
      return { other, replica: other.connection.replica, name, whenAsked };
    };

    it("answer each other in pieces of any size", async () => {
      const long = "ü".repeat(20_000);
      const { replica, name } = await answering(async function* (body: { text: string }) {
        yield body.text.length;
        yield { long };
        yield null;
      });
      const pieces = await collect(store.ask(replica, name, { text: long }, signal));
      expect(pieces).toEqual([20_000, { long }, null]);
    });

    it("tell each other what failed", async () => {
      const { replica, name } = await answering(async function* () {
        yield 1;
        throw new GatewayError("not_found", "There is no such task.");
      });
      const read = collect(store.ask(replica, name, {}, signal));
      await expect(read).rejects.toMatchObject({
        code: "not_found",
        message: "There is no such task.",
      });
      const none = collect(store.ask(replica, part(), {}, signal));
      await expect(none).rejects.toMatchObject({ code: "unavailable" });
    });

    it("stop answering a replica that stopped listening", async () => {
      let isStopped = false;
      const { replica, name } = await answering(async function* (
        _body: unknown,
        stop: AbortSignal,
      ) {
        stop.addEventListener("abort", () => (isStopped = true));
        for (let step = 0; !stop.aborted; step++) {
          yield step;
          await new Promise((resolve) => void setImmediate(resolve));
        }
      });
      for await (const piece of store.ask<number>(replica, name, {}, signal))
        if (piece === 3) break;
      await vi.waitFor(() => expect(isStopped).toBe(true), 5_000);
    });

    it(
      "end when the one that is asked counts as gone, whatever it still says",
      { timeout: 20_000 },
      async () => {
        const { other, replica, name, whenAsked } = await slow();
        let isOver = false;
        const asked = collect(store.ask(replica, name, {}, signal)).finally(() => (isOver = true));
        asked.catch(() => {});
        await whenAsked();
        // Again, because it lives and shows it.
        await vi.waitFor(async () => {
          await gateway.forget(replica);
          expect(isOver).toBe(true);
        }, 15_000);
        await expect(asked).rejects.toMatchObject({ code: "unavailable" });
        await other.close();
      },
    );

    it("tell what one that left never heard from what it may have begun", async () => {
      const { other, replica, name, whenAsked } = await slow();
      const failure = (): Promise<unknown> =>
        collect(store.ask(replica, name, {}, signal)).catch((error: unknown) => error);
      const begun = failure();
      await whenAsked();
      await other.close();
      const [maybe, never] = await Promise.all([begun, failure()]);
      expect([maybe, never]).toMatchObject([{ code: "unavailable" }, { code: "unavailable" }]);
      expect([isUnheard(maybe), isUnheard(never)]).toEqual([false, true]);
    });

    it("give up on one that is gone", { timeout: 20_000 }, async () => {
      const gone = collect(store.ask("00000000-0000-0000-0000-000000000000", part(), {}, signal));
      await expect(gone).rejects.toMatchObject({ code: "unavailable" });
    });
  });
}
