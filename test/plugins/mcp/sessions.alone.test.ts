import { afterEach, describe, expect, it, vi } from "vitest";
import { collectGarbage } from "../../fixtures/garbage.ts";
import {
  type Cancellable,
  type Session,
  type SessionEnd,
  SessionTable,
} from "../../../plugins/mcp/session/session.ts";
import { FakeServer, openSession, post, serve, text, type Served } from "./kit.ts";
import type { Json } from "../../../core/kit/types.ts";
import { until } from "../../kit/until.ts";

let served: Served | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await served?.close();
  served = undefined;
});

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

function table(max: number, idle: number) {
  const ended: [Session, SessionEnd][] = [];
  const sessions = new SessionTable({
    max,
    idle,
    onEnd: (session, reason) => ended.push([session, reason]),
  });
  return { sessions, ended };
}

function open(sessions: SessionTable, principal: string, capabilities: Json = {}): Session {
  const session = sessions.create(principal, "2025-11-25", capabilities)!;
  sessions.add(session);
  return session;
}

function running(id: number): Cancellable {
  return { id, earlier: undefined, later: undefined, cancel: () => undefined };
}

describe("Session", () => {
  it("knows its calls in flight in whatever order they end, and lets go of those that ended", () => {
    const session = open(table(1, 60_000).sessions, "p");
    const calls = [1, 2, 3, 4].map(running);
    const [a, b, c, d] = calls as [Cancellable, Cancellable, Cancellable, Cancellable];
    for (const call of calls) session.begin(call);
    expect(session.calls).toEqual([d, c, b, a]);
    session.end(b);
    expect(session.calls).toEqual([d, c, a]);
    session.end(d);
    session.end(a);
    expect(session.calls).toEqual([c]);
    session.end(c);
    expect(session.busy).toBe(false);
    for (const call of calls) expect([call.earlier, call.later]).toEqual([undefined, undefined]);
  });
});

describe("SessionTable", () => {
  it("at the limit the longest idle session makes way, and a busy one stays", () => {
    const { sessions, ended } = table(3, 60_000);
    const [a, b, c] = ["a", "b", "c"].map(() => open(sessions, "p"));
    sessions.find(a!.id, "p");
    b!.begin(running(1));
    const d = open(sessions, "p");
    expect(ended).toEqual([[c, "evicted"]]);
    expect([...sessions]).toEqual([a, b, d]);
    sessions.close();
    expect(sessions.size).toBe(0);
  });

  it("T5: at the limit whoever has most loses the longest idle of their own, others lose nothing", () => {
    const { sessions, ended } = table(6, 60_000);
    const openOf = (principal: string): Session => open(sessions, principal);
    const bob = openOf("bob");
    const flood = Array.from({ length: 50 }, () => openOf("mallory"));
    expect(sessions.find(bob.id, "bob")).toBe(bob);
    expect(ended.map(([{ principal }]) => principal)).toEqual(Array(45).fill("mallory"));
    // Streams that stay open protect nobody who has most.
    for (const session of flood.slice(45)) session.begin(running(1));
    ended.length = 0;
    const [second, third] = [openOf("bob"), openOf("bob")];
    expect(ended.map(([session]) => session)).toEqual([flood[45], flood[46]]);
    // Three each: one more is at the cost of the own.
    openOf("bob");
    expect(ended.at(-1)).toEqual([bob, "evicted"]);
    expect([...sessions]).toEqual(expect.arrayContaining([second, third]));
    sessions.close();
  });

  it("a newcomer finds a place where everybody has one", () => {
    const { sessions, ended } = table(2, 60_000);
    const [ann] = ["ann", "ben", "cleo"].map((name) => open(sessions, name));
    expect(ended).toEqual([[ann, "evicted"]]);
    sessions.close();
  });

  it("ends sessions that were idle too long, and only those", () => {
    vi.useFakeTimers();
    const { sessions, ended } = table(10, 1_000);
    const idle = open(sessions, "p");
    const busy = open(sessions, "p");
    const call = running(1);
    busy.begin(call);
    const used = open(sessions, "p");
    vi.advanceTimersByTime(800);
    sessions.find(used.id, "p");
    vi.advanceTimersByTime(700);
    expect(ended).toEqual([[idle, "idle"]]);
    busy.end(call);
    vi.advanceTimersByTime(3_000);
    expect(sessions.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("an idle session costs at most 1,024 bytes of heap", () => {
    const { sessions } = table(20_000, 60_000);
    const openMany = (count: number) => {
      for (let i = 0; i < count; i++) {
        open(sessions, "p", {
          sampling: {},
          elicitation: { form: {} },
          roots: { listChanged: true },
        });
      }
    };
    openMany(100);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    openMany(10_000);
    collectGarbage();
    expect((process.memoryUsage().heapUsed - before) / 10_000).toBeLessThan(1_024);
    sessions.close();
  });

  it("refuses capabilities that would make a session large", () => {
    const { sessions } = table(2, 1_000);
    expect(
      sessions.create("p", "2025-11-25", { experimental: { x: "y".repeat(5_000) } }),
    ).toBeUndefined();
    expect(sessions.size).toBe(0);
  });
});

describe("sessions over HTTP", () => {
  it("refuses capabilities beyond what a record of a session holds, and says how much that is", async () => {
    const { url } = (served = await serve([]));
    const initialize = async (keys: number): Promise<{ readonly error?: { message: string } }> => {
      const capabilities = Object.fromEntries(Array.from({ length: keys }, (_, key) => [key, {}]));
      const params = {
        protocolVersion: "2025-11-25",
        capabilities,
        clientInfo: { name: "c", version: "1" },
      };
      const response = await post(url, {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params,
      });
      return (await response.json()) as { error?: { message: string } };
    };
    expect((await initialize(5_000)).error?.message).toBe(
      "Declare capabilities of at most 4096 characters of JSON.",
    );
    expect((await initialize(500)).error?.message).toContain("4096");
    expect((await initialize(300)).error).toBeUndefined();
  });

  it("400 without id, 404 with an unknown one, and after DELETE", async () => {
    served = await serve([]);
    expect((await post(served.url, PING)).status).toBe(400);
    expect((await post(served.url, PING, { "mcp-session-id": "nope" })).status).toBe(404);
    const headers = await openSession(served.url);
    expect((await post(served.url, PING, headers)).status).toBe(200);
    expect((await fetch(served.url, { method: "DELETE", headers })).status).toBe(200);
    expect((await post(served.url, PING, headers)).status).toBe(404);
    expect((await fetch(served.url, { method: "DELETE", headers })).status).toBe(404);
    expect(served.endpoint.sessionCount).toBe(0);
    expect(served.host.events.map(([name]) => name)).toEqual(["session:open", "session:close"]);
  });

  it("T4: a session of one principal is unknown to every other", async () => {
    served = await serve([]);
    const alice = await openSession(served.url, {}, { "x-user": "alice" });
    const mallory = { ...alice, "x-user": "mallory" };
    expect((await post(served.url, PING, mallory)).status).toBe(404);
    expect(
      (await fetch(served.url, { headers: { ...mallory, accept: "text/event-stream" } })).status,
    ).toBe(404);
    expect((await fetch(served.url, { method: "DELETE", headers: mallory })).status).toBe(404);
    expect((await post(served.url, PING, alice)).status).toBe(200);
  });

  it("negotiates known versions, offers the newest for others, and refuses a header with an unknown one", async () => {
    served = await serve([]);
    for (const [asked, got] of [
      ["2024-11-05", "2024-11-05"],
      ["2025-03-26", "2025-03-26"],
      ["1999-01-01", "2025-11-25"],
    ]) {
      const params = {
        protocolVersion: asked,
        capabilities: {},
        clientInfo: { name: "x", version: "1" },
      };
      const response = await post(served.url, {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params,
      });
      expect(await response.json()).toMatchObject({ result: { protocolVersion: got } });
    }
    const headers = await openSession(served.url);
    expect(
      (await post(served.url, PING, { ...headers, "mcp-protocol-version": "2020-01-01" })).status,
    ).toBe(400);
  });

  it("mcp-12: the newest stream of a session is its stream, the one before stays open and silent", async () => {
    const server = new FakeServer("one").tool("a", () => text("x"));
    served = await serve([server]);
    const headers = { ...(await openSession(served.url)), accept: "text/event-stream" };
    const streams: Response[] = [];
    for (let count = 0; count < 5; count++) streams.push(await fetch(served.url, { headers }));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    // Only so many that may be gone: nobody can keep opening them.
    const refused = await fetch(served.url, { headers });
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining("4 older connections"),
    ]);
    server.tool("b", () => text("x")).emit({ type: "changed", lists: ["tools"] });
    const read = async ({ body }: Response): Promise<string> => {
      const { value } = await body!.getReader().read();
      return new TextDecoder().decode(value as Uint8Array | undefined);
    };
    expect(await read(streams[4]!)).toContain("tools/list_changed");
    const early = streams.slice(0, 4).map(read);
    const first = await Promise.race([...early, Promise.resolve("nothing")]);
    expect(first).toBe("nothing");
    await fetch(served.url, { method: "DELETE", headers });
    // They end with their session.
    expect(await Promise.all(early)).toEqual(["", "", "", ""]);
  });

  it("mcp-11: what a client watches is told when its stream comes back", async () => {
    const server = new FakeServer("one", {
      resources: [{ uri: "x://a", name: "a" }],
      capabilities: { resources: { subscribe: true } },
    });
    served = await serve([server]);
    const headers = await openSession(served.url);
    const events = { ...headers, accept: "text/event-stream" };
    const first = await fetch(served.url, { headers: events });
    const subscribe = {
      jsonrpc: "2.0",
      id: 1,
      method: "resources/subscribe",
      params: { uri: "x://a" },
    };
    await post(served.url, subscribe, headers);
    const connections = served.sockets();
    await first.body!.cancel();
    // Before the gateway has noticed, and after.
    server.emit({ type: "updated", params: { uri: "x://a" } });
    await until(() => served!.sockets() < connections);
    server.emit({ type: "updated", params: { uri: "x://a/b" } });
    const second = await fetch(served.url, { headers: events });
    const { value } = await second.body!.getReader().read();
    const said = new TextDecoder().decode(value as Uint8Array);
    const told = said.matchAll(/resources\/updated","params":\{"uri":"([^"]+)"/g);
    expect([...told].map(([, uri]) => uri)).toEqual(["x://a", "x://a/b"]);
  });

  it("limits.sessions bounds the sessions of an endpoint", async () => {
    served = await serve([], { limits: { sessions: 5 } });
    for (let i = 0; i < 20; i++) await openSession(served.url);
    expect(served.endpoint.sessionCount).toBe(5);
  });

  it("batches: answered up to 2025-03-26, refused after, and never above 100", async () => {
    served = await serve([
      new FakeServer("one").tool("echo", (call) => text(String(call.args?.["n"]))),
    ]);
    const params = {
      protocolVersion: "2025-03-26",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    };
    const opened = await post(served.url, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    const old = { "mcp-session-id": opened.headers.get("mcp-session-id")! };
    const call = (id: number) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "echo", arguments: { n: id } },
    });
    const batch = [call(1), { jsonrpc: "2.0", method: "notifications/initialized" }, call(2), PING];
    const answers = (await (await post(served.url, batch, old)).json()) as {
      id: number;
      result: { content?: { text: string }[] };
    }[];
    expect(answers.map(({ id, result }) => [id, result.content?.[0]?.text])).toEqual(
      expect.arrayContaining([
        [1, "1"],
        [2, "2"],
        [1, undefined],
      ]),
    );
    expect(answers).toHaveLength(3);
    expect(
      (
        await post(
          served.url,
          Array.from({ length: 101 }, (_, id) => call(id)),
          old,
        )
      ).status,
    ).toBe(400);
    expect((await post(served.url, batch, await openSession(served.url))).status).toBe(400);
    expect((await post(served.url, [], old)).status).toBe(400);
  });
});
