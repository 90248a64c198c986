import pino from "pino";
import type { StoreDriver } from "propylon/store";
import { expect, it } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

const log = pino({ level: "silent" });

/** A store of several gateways: what one of them sees of it. */
class Line {
  isCut = false;
  reads = 0;
  readonly driver: StoreDriver;

  constructor(memory: MemoryDriver) {
    this.driver = new Proxy<StoreDriver>(memory, {
      get: (target, name: keyof StoreDriver) => {
        if (name === "shared") return true;
        if (name === "close") return () => Promise.resolve();
        const member = target[name] as unknown;
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          if (name === "get") this.reads++;
          if (this.isCut) return Promise.reject(new Error("cut off"));
          return (member as (...all: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  }

  open() {
    return new GatewayStore(this.driver, log).scope("p");
  }
}

/** Keeps the process from doing anything, as SIGSTOP would. */
function freeze(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it("a process that was stopped knows that it holds nothing, before any timer of it runs", async () => {
  const store = new Line(new MemoryDriver()).open();
  const lease = await store.lease("one", { ttl: 3_000, margin: 1_500 });
  expect(lease.isHeld).toBe(true);
  freeze(1_600);
  expect([lease.isHeld, lease.signal.aborted]).toEqual([false, false]);
  await lease.release();
});

it("a holder that is cut off has lost it before another one gets it", async () => {
  const memory = new MemoryDriver();
  const [near, far] = [new Line(memory), new Line(memory)];
  const lease = await near.open().lease("one", { ttl: 1_500, margin: 750 });
  const next = far.open().lease("one", { ttl: 1_500 });
  near.isCut = true;
  const order: string[] = [];
  lease.signal.addEventListener("abort", () => order.push("lost"));
  const taken = await next;
  order.push("taken");
  expect(order).toEqual(["lost", "taken"]);
  expect(lease.isHeld).toBe(false);
  expect(taken.fence).toBeGreaterThan(lease.fence);
  await taken.release();
});

it("who waits is not woken by renewals of other leases", async () => {
  const memory = new MemoryDriver();
  const holder = new Line(memory).open();
  const line = new Line(memory);
  const held = await holder.lease("one", { ttl: 600_000 });
  const waiting = new AbortController();
  const second = line.open().lease("one", { ttl: 600_000, signal: waiting.signal });
  await expect.poll(() => line.reads).toBe(1);
  for (let each = 0; each < 20; each++)
    await (await holder.lease(`other-${each}`, { ttl: 600_000 })).release();
  expect(line.reads).toBe(1);
  await held.release();
  await (await second).release();
  waiting.abort();
});

it("a margin that leaves no time to renew is refused", async () => {
  const store = new Line(new MemoryDriver()).open();
  await expect(store.lease("one", { ttl: 1_000, margin: 600 })).rejects.toMatchObject({
    code: "invalid",
  });
});
