import type { ServerEvent } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { type Clock, SYSTEM_CLOCK } from "../../../plugins/servers/wire/clock.ts";
import type { Upstream } from "../../../plugins/servers/upstream/upstream.ts";
import { makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { rpc, type Running, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

interface Lists extends Running {
  /** Answers `tools/list`; may be replaced. */
  list: (cursor: string | undefined) => { result?: unknown; error?: unknown };
  /** Sends a notification on the GET stream. */
  notify(method: string): void;
}

async function serve(
  list: Lists["list"],
  capabilities: object = { tools: { listChanged: true } },
): Promise<Lists> {
  let push = (_text: string): void => undefined;
  const server: Lists = {
    ...(await serveHttp((req, res, body) => {
      if (req.method === "GET") {
        res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        push = (text) => void res.write(text);
        return;
      }
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "initialize")
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities,
          serverInfo: { name: "x", version: "1" },
          instructions: "Read me.",
        });
      if (body.method === "tools/list") {
        const { result, error } = server.list(body.params["cursor"] as string | undefined);
        return rpc(res, body.id, result, error);
      }
      rpc(res, body.id, undefined, { code: -32601, message: "Method not found" });
    })),
    list,
    notify: (method) => push(`data: ${JSON.stringify({ jsonrpc: "2.0", method })}\n\n`),
  };
  return use(server);
}

const tool = (name: string): object => ({ name, inputSchema: { type: "object" } });
const page = (names: string[], nextCursor?: string): { result: unknown } => ({
  result: { tools: names.map(tool), nextCursor },
});

function begin(server: Running, clock: Clock = SYSTEM_CLOCK): Upstream {
  const upstream = use(
    makeUpstream({ url: server.url, protocol: "legacy", connectTimeout: "1s" }, { clock }),
  );
  upstream.start();
  return upstream;
}

const names = (upstream: Upstream): string[] => upstream.catalogue.tools.map(({ name }) => name);
const listed = (server: Running): number =>
  server.requests.filter(
    ({ body }) => (body as { method?: string } | undefined)?.method === "tools/list",
  ).length;

describe("lists", () => {
  it("follows every page, and keeps unknown members and odd names", async () => {
    const odd = { name: "a b/ü", inputSchema: {}, "x-vendor": { keep: true } };
    const pages: Record<string, unknown> = {
      "": page(["a"], "1"),
      "1": page(["b"], "2"),
      "2": { result: { tools: [odd] } },
    };
    const upstream = begin(await serve((cursor) => pages[cursor ?? ""] as { result: unknown }));
    await reached(upstream, "ready");
    expect(names(upstream)).toEqual(["a", "b", "a b/ü"]);
    expect(upstream.catalogue.tools[2]).toEqual(odd);
    expect(upstream.catalogue).toMatchObject({
      instructions: "Read me.",
      serverInfo: { name: "x" },
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("asks only for lists the server declares, and a declared one that is missing is empty", async () => {
    const server = await serve(() => page(["a"]), { tools: {}, prompts: {} });
    const upstream = begin(server);
    await reached(upstream, "ready");
    const asked = server.requests
      .map(({ body }) => (body as { method?: string } | undefined)?.method)
      .filter((method) => method?.endsWith("/list"));
    expect(asked.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      "prompts/list",
      "tools/list",
    ]);
    expect(upstream.catalogue.prompts).toEqual([]);
  });

  it("a cursor that repeats ends the list with an error that names it, and keeps what came", async () => {
    const upstream = begin(await serve((cursor) => page([`t-${cursor}`], "again")));
    await reached(upstream, "degraded");
    expect(names(upstream)).toEqual(["t-undefined", "t-again"]);
    expect(upstream.status.reason).toBe('tools/list repeats the cursor "again"');
  });

  it("a list that breaks off on a later page keeps the one before, and says why", async () => {
    const server = await serve((cursor) => (cursor === undefined ? page(["a"], "1") : page(["b"])));
    const upstream = begin(server);
    await reached(upstream, "ready");
    server.list = (cursor) =>
      cursor === undefined ? page(["a"], "1") : { error: { code: -32603, message: "gone" } };
    server.notify("notifications/tools/list_changed");
    await reached(upstream, "degraded");
    expect(names(upstream)).toEqual(["a", "b"]);
    expect(upstream.status.reason).toBe("tools/list failed: gone (-32603)");
  });

  it("endless pages end after 1,000", async () => {
    const upstream = begin(await serve((cursor) => page([], String(Number(cursor ?? 0) + 1))));
    await reached(upstream, "degraded");
    expect(upstream.status.reason).toBe(
      'tools/list has more than 1000 pages; the last cursor was "1000"',
    );
  });

  it("list_changed reads the list again; several at once are read together", async () => {
    const server = await serve(() => page(["a"]));
    const upstream = begin(server);
    await reached(upstream, "ready");
    server.list = () => page(["a", "b"]);
    const changed = nextEvent(upstream, "changed");
    for (let burst = 0; burst < 50; burst++) server.notify("notifications/tools/list_changed");
    expect((await changed).lists).toEqual(["tools"]);
    expect(names(upstream)).toEqual(["a", "b"]);
    expect(listed(server)).toBeLessThanOrEqual(4);
  });

  it("M106: an unchanged list causes no event and keeps the very same catalogue", async () => {
    const server = await serve(() => page(["a"]));
    const upstream = begin(server);
    await reached(upstream, "ready");
    const before = upstream.catalogue;
    const events: ServerEvent[] = [];
    upstream.on((event) => void events.push(event));
    server.notify("notifications/tools/list_changed");
    // A second, real change is the proof that the first was read.
    await expect.poll(() => listed(server)).toBe(2);
    expect(upstream.catalogue).toBe(before);
    await upstream.reconnect();
    await reached(upstream, "ready");
    expect(upstream.catalogue).toBe(before);
    expect(events.filter(({ type }) => type === "changed")).toEqual([]);
  });

  it("a refresh that fails keeps the old list, is visible as degraded, and is tried again", async () => {
    const timers: (() => void)[] = [];
    const clock: Clock = {
      ...SYSTEM_CLOCK,
      after: (_ms, callback) => (timers.push(callback), () => undefined),
    };
    const server = await serve(() => page(["a"]));
    const upstream = begin(server, clock);
    await reached(upstream, "ready");
    server.list = () => ({ error: { code: -32603, message: "broken" } });
    server.notify("notifications/tools/list_changed");
    await reached(upstream, "degraded");
    expect(upstream.status.reason).toBe("tools/list failed: broken (-32603)");
    expect(names(upstream)).toEqual(["a"]);
    server.list = () => page(["c"]);
    timers.at(-1)!();
    await reached(upstream, "ready");
    expect(names(upstream)).toEqual(["c"]);
  });
});
