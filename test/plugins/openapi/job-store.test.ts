import { describe, expect, it } from "vitest";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";
import { createSlow, get, post, refusal, startOpenapi, waitForCount } from "./support.ts";

const ASYNC = { prefer: "respond-async" };

async function start(kept: KeptStore, options: Record<string, unknown> = {}) {
  const { plugin, calls } = createSlow();
  const { gateway, url } = await startOpenapi(options, [kept.plugin, plugin], { store: "kept" });
  const begin = async (text = "later"): Promise<string> => {
    const { status, headers } = await post(`${url}/slow/wait`, { text }, ASYNC);
    expect(status).toBe(202);
    return headers.get("location")!;
  };
  const show = (path: string) => get(`${url}${path}`);
  const remove = (path: string) => fetch(`${url}${path}`, { method: "DELETE" });
  return { gateway, url, calls, begin, show, remove };
}

describe("jobs in a durable store", () => {
  it("that ended are there after a restart, with their answers", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    const done = await first.begin();
    await waitForCount(first.calls, 1);
    first.calls[0]!.finish();
    await until(async () => (await first.show(done)).body.job.status === "done");
    const cancelled = await first.begin();
    expect((await first.remove(cancelled)).status).toBe(200);
    const failing = await post(`${first.url}/slow/fail`, {}, ASYNC);
    const failed = failing.headers.get("location")!;
    await until(async () => (await first.show(failed)).body.job.status === "failed");
    const before = await Promise.all([done, cancelled, failed].map((path) => first.show(path)));
    await first.gateway.close();
    const second = await start(kept);
    const after = await Promise.all([done, cancelled, failed].map((path) => second.show(path)));
    expect(after.map(({ body }) => body)).toEqual(before.map(({ body }) => body));
    expect((await second.remove(done)).status).toBe(200);
    const third = await start(kept);
    expect((await third.show(done)).status).toBe(404);
  });

  it.each([
    ["killed", async () => {}],
    ["closed", (first: Awaited<ReturnType<typeof start>>) => first.gateway.close({ grace: 0 })],
  ])("that ran when the gateway was %s have failed, and say why", async (_how, end) => {
    const kept = new KeptStore();
    const first = await start(kept);
    const running = await first.begin();
    await waitForCount(first.calls, 1);
    await end(first);
    const second = await start(kept);
    expect((await second.show(running)).body.job).toMatchObject({
      status: "failed",
      httpStatus: 503,
      answer: refusal("unavailable"),
    });
    expect(second.calls).toEqual([]);
  });

  it("are forgotten in time and bounded after a restart, too", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    const paths = [await first.begin(), await first.begin(), await first.begin()];
    for (const path of paths) {
      await first.remove(path);
      const ended = Date.now();
      // Of two that end in the same millisecond either is the older one.
      await until(() => Date.now() > ended);
    }
    await kept.driver.put("tasks/jobs", "broken", "1:7");
    const second = await start(kept, { jobs: { maxJobs: 2 } });
    const found = await Promise.all(paths.map((path) => second.show(path)));
    expect(found.map(({ status }) => status)).toEqual([404, 200, 200]);
    await second.gateway.close();
    const third = await start(kept, { jobs: { ttl: "1ms" } });
    await until(async () => (await third.show(paths[1]!)).status === 404);
    await until(async () => {
      const left = await kept.driver.list("tasks/jobs", { prefix: "", limit: 10 });
      return left.length === 1;
    });
  });

  it("while the store is away none begins, and an end counts when it can be written", async () => {
    const kept = new KeptStore();
    const { begin, calls, show, remove, url } = await start(kept);
    const running = await begin();
    await waitForCount(calls, 1);
    kept.isAway = true;
    const refused = await post(`${url}/slow/wait`, {}, ASYNC);
    expect(refused).toMatchObject({ status: 503, body: refusal("unavailable") });
    expect((await remove(running)).status).toBe(503);
    expect(calls).toHaveLength(1);
    calls[0]!.finish();
    expect((await show(running)).body.job.status).toBe("running");
    kept.isAway = false;
    await until(async () => (await show(running)).body.job.status === "done");
    const second = await start(kept);
    expect((await second.show(running)).body.job).toMatchObject({ status: "done" });
  });

  it("of a shared store are seen at every gateway, and those of one that is gone have failed", async () => {
    const kept = new KeptStore({ shared: true });
    const first = await start(kept);
    const second = await start(kept);
    const running = await first.begin();
    expect((await second.show(running)).body.job.status).toBe("running");
    const other = await first.begin();
    expect((await second.remove(other)).status).toBe(200);
    expect((await first.show(other)).body.job.status).toBe("cancelled");
    await kept.loseGateway();
    expect((await second.show(running)).body.job).toMatchObject({ status: "failed" });
  });
});
