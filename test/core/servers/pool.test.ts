import { describe, expect, it } from "vitest";
import { z } from "zod";
import { serverSchema, type ServerConfig } from "../../../core/config/server-schema.ts";
import type { ServerEvent } from "../../../core/server/server.ts";
import { UpstreamPool, type UpstreamPlan } from "../../../core/servers/pool.ts";
import { callText, log, reached } from "./support/calls.ts";
import { serveOld } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

function makePool(): { pool: UpstreamPool; events: [string, ServerEvent][] } {
  const events: [string, ServerEvent][] = [];
  const pool = new UpstreamPool({
    log,
    clientInfo: { name: "test", version: "1" },
    cwd: process.cwd(),
    onEvent: (name, event) => void events.push([name, event]),
  });
  return { pool: use(pool), events };
}

/** A plan whose servers are being connected. */
function plan(pool: UpstreamPool, ...input: Parameters<UpstreamPool["plan"]>): UpstreamPlan {
  const planned = pool.plan(...input);
  planned.start();
  return planned;
}

function servers(entries: Record<string, object>): Record<string, ServerConfig> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, config]) => [name, serverSchema.parse(config)]),
  );
}

const serve = (name: string): ReturnType<typeof serveOld> =>
  serveOld(
    (mcp) =>
      void mcp.registerTool(name, { inputSchema: { text: z.string() } }, ({ text }) => ({
        content: [{ type: "text", text: `${name} ${text}` }],
      })),
  );

describe("UpstreamPool", () => {
  it("keeps unchanged servers, replaces changed ones, and reports what it did", async () => {
    const [a, b, c] = [use(await serve("a")), use(await serve("b")), use(await serve("c"))];
    const { pool } = makePool();
    const first = plan(
      pool,
      servers({ b: { url: b.url }, a: { url: a.url }, off: { url: c.url, enabled: false } }),
    );
    expect(first.changes).toEqual({ added: ["a", "b"], removed: [], changed: [], unchanged: [] });
    expect(pool.upstreams.size).toBe(0);
    await first.commit(0);
    expect([...pool.upstreams.keys()]).toEqual(["b", "a"]);
    const [oldA, oldB] = [pool.upstreams.get("a")!, pool.upstreams.get("b")!];
    await Promise.all([reached(oldA, "ready"), reached(oldB, "ready")]);
    await oldB.subscribe("file:///x").catch(() => undefined);

    const second = plan(
      pool,
      servers({ a: { url: a.url }, b: { url: b.url, headers: { x: "1" } }, c: { url: c.url } }),
    );
    expect(second.changes).toEqual({ added: ["c"], removed: [], changed: ["b"], unchanged: ["a"] });
    expect(second.upstreams.get("a")).toBe(oldA);
    const newB = second.upstreams.get("b")!;
    expect(newB).not.toBe(oldB);
    expect(newB.catalogue).toBe(oldB.catalogue);
    await second.commit(0);
    await reached(newB, "ready");
    await expect.poll(() => oldB.status.state).toBe("closed");
    expect(oldA.status.state).toBe("ready");
    expect(await callText(pool.upstreams.get("b")!, "b", { text: "new" })).toBe("b new");

    const third = plan(pool, servers({ a: { url: a.url } }));
    expect(third.changes).toEqual({
      added: [],
      removed: ["b", "c"],
      changed: [],
      unchanged: ["a"],
    });
    await third.commit(0);
    expect(newB.status.state).toBe("closed");
  });

  it("abort closes only what the plan created", async () => {
    const a = use(await serve("a"));
    const { pool } = makePool();
    await plan(pool, servers({ a: { url: a.url } })).commit(0);
    const old = pool.upstreams.get("a")!;
    await reached(old, "ready");
    const planned = plan(
      pool,
      servers({ a: { url: a.url, headers: { x: "1" } }, b: { url: a.url } }),
    );
    await planned.abort();
    for (const upstream of planned.upstreams.values()) expect(upstream.status.state).toBe("closed");
    expect(pool.upstreams.get("a")).toBe(old);
    expect(await callText(old, "a", { text: "still" })).toBe("a still");
  });

  it("a replaced server finishes its calls in flight before it is closed", async () => {
    let [begun, finish] = [(): void => undefined, (): void => undefined];
    const started = new Promise<void>((resolve) => (begun = resolve));
    const slow = use(
      await serveOld((mcp) =>
        mcp.registerTool("work", {}, async () => {
          begun();
          await new Promise<void>((resolve) => (finish = resolve));
          return { content: [{ type: "text", text: "done" }] };
        }),
      ),
    );
    const { pool } = makePool();
    await plan(pool, servers({ s: { url: slow.url } })).commit(0);
    const old = pool.upstreams.get("s")!;
    const work = callText(old, "work");
    await started;
    const committed = plan(pool, servers({})).commit(10_000);
    expect(pool.upstreams.size).toBe(0);
    finish();
    expect(await work).toBe("done");
    await committed;
    expect(old.status.state).toBe("closed");
  });

  it("passes on events of servers in use, and not of planned or replaced ones", async () => {
    const a = use(await serve("a"));
    const { pool, events } = makePool();
    const planned = plan(pool, servers({ a: { url: a.url } }));
    await reached(planned.upstreams.get("a")!, "ready");
    expect(events).toEqual([]);
    await planned.commit(0);
    await pool.upstreams.get("a")!.reconnect();
    await reached(pool.upstreams.get("a")!, "ready");
    expect(
      events.map(([name, event]) => [name, event.type === "state" && event.status.state]),
    ).toEqual([
      ["a", "connecting"],
      ["a", "ready"],
    ]);
    await plan(pool, {}).commit(0);
    expect(events).toHaveLength(2);
  });
});
