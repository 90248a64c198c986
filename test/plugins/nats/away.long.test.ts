import { describe, expect, it, onTestFinished } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { until, useDriver, useServer } from "./kit.ts";

/** Milliseconds until a call is refused. */
async function refusedWithin(work: Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await expect(work).rejects.toThrow(/NATS|CONNECTION|connection/);
  return performance.now() - begin;
}

describe("a nats-server that is killed", () => {
  it("and started again has all that was confirmed, and who watches catches up", async () => {
    const server = await useServer();
    const [writer, watcher] = [await useDriver(server.url), await useDriver(server.url)];
    const copy = new Map<string, string>();
    let isStale = true;
    await watcher.watch("b", (key) => {
      if (key === undefined) isStale = true;
    });
    const confirmed = new Map<string, string>();
    const logged: string[] = [];
    let isOver = false;
    const writing = (async () => {
      for (let step = 0; !isOver; step++) {
        const [key, value] = [`key${step % 50}`, `value ${step}`];
        // What was refused may have been written nevertheless: the key is left out from then on.
        const isDone = await writer.put("b", key, value).then(
          () => true,
          () => false,
        );
        if (isDone) confirmed.set(key, value);
        else confirmed.delete(key);
        await writer.append("log", [`entry ${step}`]).then(
          () => logged.push(`entry ${step}`),
          () => {},
        );
      }
    })();
    for (let kill = 0; kill < 3; kill++) {
      const before = logged.length;
      await until(() => logged.length > before + 100, 30_000);
      isStale = false;
      await server.restart("SIGKILL");
      await until(() => isStale, 10_000);
    }
    const before = logged.length;
    await until(() => logged.length > before + 100, 30_000);
    isOver = true;
    await writing;
    for (const { key, value } of await watcher.list("b", { prefix: "", limit: 99 }))
      copy.set(key, value);
    for (const [key, value] of confirmed)
      expect({ key, value: copy.get(key) }).toEqual({ key, value });
    const entries: string[] = [];
    for (let after = 0; ;) {
      const page = await watcher.read("log", after, 1_000);
      if (page.length === 0) break;
      entries.push(...page.map(({ value }) => value));
      after = page.at(-1)!.seq;
    }
    const found = new Set(entries);
    expect(logged.filter((entry) => !found.has(entry))).toEqual([]);
    expect(found.size).toBe(entries.length);
  });

  it("refuses every call at once while it is away, and takes them again within 5 seconds", async () => {
    const server = await useServer();
    const driver = await useDriver(server.url);
    await driver.put("b", "key", "1");
    await server.kill();
    expect(await refusedWithin(driver.put("b", "key", "2"))).toBeLessThan(PATIENCE * 5_000);
    for (const work of [
      () => driver.get("b", "key"),
      () => driver.put("b", "key", "3"),
      () => driver.delete("b", "key"),
      () => driver.list("b", { prefix: "", limit: 9 }),
      () => driver.watch("b", () => {}),
      () => driver.append("log", ["1"]),
      () => driver.read("log", 0, 9),
      () => driver.trim("log", { maxEntries: 1 }),
      () => driver.publish("t", "1"),
      () => driver.subscribe("t", () => {}),
    ])
      expect(await refusedWithin(work())).toBeLessThan(PATIENCE * 1_000);
    await server.start();
    const there = await until(() => driver.get("b", "key").catch(() => false as const), 5_000);
    // What was refused while it was away never happens later.
    expect(there.value).toBe("1");
  });
});

describe("a nats-server that does not answer", () => {
  it("is given up within 5 seconds, and used again when it answers", async () => {
    const server = await useServer();
    const driver = await useDriver(server.url);
    await driver.put("b", "key", "1");
    process.kill(server.pid!, "SIGSTOP");
    onTestFinished(() => void (server.pid && process.kill(server.pid, "SIGCONT")));
    // The signal takes a moment: until then there are answers.
    const took = await until(async () => {
      const begin = performance.now();
      return driver.get("b", "key").then(
        () => false as const,
        () => performance.now() - begin,
      );
    });
    expect(took).toBeLessThan(PATIENCE * 5_000);
    expect(await refusedWithin(driver.put("b", "key", "2", { rev: 1 }))).toBeLessThan(
      PATIENCE * 5_000,
    );
    process.kill(server.pid!, "SIGCONT");
    await until(() => driver.get("b", "key").catch(() => false as const), 10_000);
  });
});
