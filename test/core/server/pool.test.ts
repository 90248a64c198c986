import type { ServerType, ServerEvent } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { serverSchema } from "../../../core/config/server-schema.ts";
import type { Scope } from "../../../core/gateway/scope.ts";
import { ServerPool, type ServerPlan, type TypedServer } from "../../../core/gateway/pool.ts";
import type { UpstreamConfig } from "../../../plugins/servers/connection/dial.ts";
import {
  callText,
  log,
  makeUpstream,
  reached,
  readEntry,
} from "../../plugins/servers/support/calls.ts";
import { serveOld } from "../../plugins/servers/support/servers.ts";
import { closing } from "../../plugins/servers/support/use.ts";

const use = closing();

/** As the plugin that serves them registers them. */
const scope = { name: "servers", managed: new Set() } as unknown as Scope;
const definition: ServerType<UpstreamConfig> = {
  create: (name, config, catalogue) =>
    makeUpstream(config, { name, ...(catalogue && { catalogue }) }),
};

function makePool(): { pool: ServerPool; events: [string, ServerEvent][] } {
  const events: [string, ServerEvent][] = [];
  const pool = new ServerPool({
    log,
    onEvent: (name, event) => void events.push([name, event]),
  });
  return { pool: use(pool), events };
}

/** A plan whose servers are being connected. */
function plan(pool: ServerPool, entries: ReadonlyMap<string, TypedServer>): ServerPlan {
  const planned = pool.plan(entries);
  planned.start(scope);
  return planned;
}

function servers(entries: Record<string, object>): ReadonlyMap<string, TypedServer> {
  return new Map(
    Object.entries(entries).map(([name, given]) => {
      const entry = serverSchema.parse({ type: "command" in given ? "stdio" : "http", ...given });
      return [name, { scope, definition, entry, options: readEntry(given) }];
    }),
  );
}

const serve = (name: string): ReturnType<typeof serveOld> =>
  serveOld(
    (mcp) =>
      void mcp.registerTool(name, { inputSchema: { text: z.string() } }, ({ text }) => ({
        content: [{ type: "text", text: `${name} ${text}` }],
      })),
  );

describe("ServerPool", () => {
  it("keeps unchanged servers, replaces changed ones, and reports what it did", async () => {
    const [a, b, c] = [use(await serve("a")), use(await serve("b")), use(await serve("c"))];
    const { pool } = makePool();
    const first = plan(
      pool,
      servers({ b: { url: b.url }, a: { url: a.url }, off: { url: c.url, enabled: false } }),
    );
    expect(first.changes).toEqual({ added: ["a", "b"], removed: [], changed: [], unchanged: [] });
    expect(pool.servers.size).toBe(0);
    await first.commit(0);
    expect([...pool.servers.keys()]).toEqual(["b", "a"]);
    const [oldA, oldB] = [pool.servers.get("a")!, pool.servers.get("b")!];
    await Promise.all([reached(oldA, "ready"), reached(oldB, "ready")]);
    await oldB.subscribe!("file:///x").catch(() => undefined);

    const second = plan(
      pool,
      servers({ a: { url: a.url }, b: { url: b.url, headers: { x: "1" } }, c: { url: c.url } }),
    );
    expect(second.changes).toEqual({ added: ["c"], removed: [], changed: ["b"], unchanged: ["a"] });
    expect(second.servers.get("a")).toBe(oldA);
    const newB = second.servers.get("b")!;
    expect(newB).not.toBe(oldB);
    expect(newB.catalogue).toBe(oldB.catalogue);
    await second.commit(0);
    await reached(newB, "ready");
    await expect.poll(() => oldB.status.state).toBe("closed");
    expect(oldA.status.state).toBe("ready");
    expect(await callText(pool.servers.get("b")!, "b", { text: "new" })).toBe("b new");

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
    const old = pool.servers.get("a")!;
    await reached(old, "ready");
    const planned = plan(
      pool,
      servers({ a: { url: a.url, headers: { x: "1" } }, b: { url: a.url } }),
    );
    await planned.abort();
    for (const upstream of planned.servers.values()) expect(upstream.status.state).toBe("closed");
    expect(pool.servers.get("a")).toBe(old);
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
    const old = pool.servers.get("s")!;
    const work = callText(old, "work");
    await started;
    const committed = plan(pool, servers({})).commit(10_000);
    expect(pool.servers.size).toBe(0);
    finish();
    expect(await work).toBe("done");
    await committed;
    expect(old.status.state).toBe("closed");
  });

  it("passes on events of servers in use, and not of planned or replaced ones", async () => {
    const a = use(await serve("a"));
    const { pool, events } = makePool();
    const planned = plan(pool, servers({ a: { url: a.url } }));
    await reached(planned.servers.get("a")!, "ready");
    expect(events).toEqual([]);
    await planned.commit(0);
    await pool.servers.get("a")!.reconnect!();
    await reached(pool.servers.get("a")!, "ready");
    expect(
      events.map(([name, event]) => [name, event.type === "state" && event.status.state]),
    ).toEqual([
      ["a", "connecting"],
      ["a", "ready"],
    ]);
    await plan(pool, new Map()).commit(0);
    expect(events).toHaveLength(2);
  });
});
