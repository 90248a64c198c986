import { expect, it } from "vitest";
import { idOf, sendJson, startBus, startRuntime, startSidecar, until, user } from "./kit.ts";

it.each(["memory", "jetstream"] as const)(
  "F2: a task that a runtime does not take waits as documented before each delivery, over %s",
  async (kind) => {
    const bus = kind === "jetstream" ? await startBus() : undefined;
    const times: number[] = [];
    const runtime = await startRuntime({
      "/": (_, res) => {
        times.push(performance.now());
        sendJson(res, {}, 503);
      },
    });
    const { queue, url } = await startSidecar({
      runtime: { url: runtime.url },
      ...(bus && { nats: { url: bus.server.url } }),
    });
    await until(async () => (await fetch(`${url}/sidecar/ready`)).ok);
    await queue.submit(user("a", { taskId: "t" }));
    const found = await queue.result("t", { wait: 60_000 });
    expect(found?.task.metadata).toEqual({ deadLetter: { reason: "unavailable", deliveries: 5 } });
    expect(new Set(runtime.tasks.map(idOf))).toEqual(new Set(["t"]));
    const pauses = times.slice(1).map((time, index) => time - times[index]!);
    expect(pauses).toHaveLength(4);
    // 1, 2, 4 and 8 s, each less a random part of up to half.
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(500 * 2 ** index - 5);
      expect(pause).toBeLessThan(1_000 * 2 ** index + 3_000);
    }
  },
  90_000,
);
