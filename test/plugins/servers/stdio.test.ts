import { randomInt, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { GatewayError, type Progress } from "propylon";
import { describe, expect, it } from "vitest";
import { toRpcError } from "../../../core/kit/errors.ts";
import { createPrincipal } from "../../../core/kit.ts";
import type { Upstream } from "../../../plugins/servers/upstream/upstream.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { longestTurn } from "../../fixtures/turns.ts";
import { callText, makeCall, makePeer, makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { closing } from "./support/use.ts";

const use = closing();
const child = fileURLToPath(new URL("support/child.mjs", import.meta.url));

async function start(flags: readonly string[] = [], config: object = {}): Promise<Upstream> {
  const upstream = use(
    makeUpstream({ command: process.execPath, args: [child, ...flags], ...config }),
  );
  upstream.start();
  await reached(upstream, "ready");
  return upstream;
}

/** Resolves when the child says that a `wait` runs. */
const waits = (upstream: Upstream): Promise<unknown> =>
  nextEvent(upstream, "notification", ({ method }) => method === "notifications/test/waiting");

describe("stdio", () => {
  it("lists and calls tools of @modelcontextprotocol/server-everything", async () => {
    const entry = createRequire(import.meta.url).resolve(
      "@modelcontextprotocol/server-everything/dist/index.js",
    );
    const upstream = use(makeUpstream({ command: process.execPath, args: [entry, "stdio"] }));
    upstream.start();
    await reached(upstream, "ready");
    expect(upstream.status).toMatchObject({
      era: "legacy",
      transport: "stdio",
      pid: expect.any(Number),
    });
    expect(upstream.catalogue.tools.map(({ name }) => name)).toContain("echo");
    expect(upstream.catalogue.prompts.length).toBeGreaterThan(0);
    expect(await callText(upstream, "echo", { message: "hallo" })).toContain("hallo");
  });

  it("T5: 200 concurrent calls each get their own answer", async () => {
    const upstream = await start();
    const nonces = Array.from({ length: 200 }, () => randomUUID());
    expect(await Promise.all(nonces.map((text) => callText(upstream, "echo", { text })))).toEqual(
      nonces,
    );
  });

  it("T5: second answers and answers with guessed ids reach nobody", async () => {
    const upstream = await start();
    const waiting = waits(upstream);
    const abort = new AbortController();
    const victim = upstream.request(makeCall("wait", {}, { signal: abort.signal }));
    await waiting;
    for (const id of [1, "1", 0, null, "q1", upstream.name])
      expect(await callText(upstream, "impostor", { id })).toBe("done");
    expect(await callText(upstream, "twice")).toBe("first");
    expect(await callText(upstream, "echo", { text: "mine" })).toBe("mine");
    abort.abort();
    await expect(victim).rejects.toMatchObject({ code: "cancelled" });
  });

  it("P101: a progress token goes out only for a caller that wants progress, and progress comes back to it", async () => {
    const upstream = await start();
    const seen: Progress[] = [];
    expect(await callText(upstream, "token")).toBe("undefined");
    await callText(upstream, "progress", {}, { progress: (progress) => void seen.push(progress) });
    expect(seen).toEqual([{ progress: 1 }, { progress: 2 }, { progress: 3 }]);
  });

  it("a cancelled call is cancelled at the server", async () => {
    const upstream = await start();
    const waiting = waits(upstream);
    const cancelled = nextEvent(
      upstream,
      "notification",
      ({ method }) => method === "notifications/test/cancelled",
    );
    const abort = new AbortController();
    const call = upstream.request(makeCall("wait", {}, { signal: abort.signal }));
    await waiting;
    const deadline = new GatewayError("timeout", "Too slow.");
    abort.abort(deadline);
    await expect(call).rejects.toBe(deadline);
    await cancelled;
    expect(upstream.inFlight).toBe(0);
  });

  it("a crash in the middle of a call is a clean error at once, and the next call works", async () => {
    const upstream = await start();
    const pid = Number(await callText(upstream, "pid"));
    const other = upstream.request(makeCall("wait"));
    const crash = upstream.request(makeCall("crash"));
    await expect(crash).rejects.toMatchObject({ code: "upstream_error", data: { exitCode: 3 } });
    await expect(other).rejects.toMatchObject({ code: "upstream_error" });
    expect(upstream.status.state).toBe("connecting");
    expect(Number(await callText(upstream, "pid"))).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
  });

  it("a child that keeps dying is not dialled in a loop, and calls then fail at once with the time of the next attempt", async () => {
    const upstream = await start();
    for (let death = 0; death < 3; death++)
      await expect(upstream.request(makeCall("crash"))).rejects.toMatchObject({
        code: "upstream_error",
      });
    await reached(upstream, "ready");
    await expect(upstream.request(makeCall("crash"))).rejects.toMatchObject({
      code: "upstream_error",
    });
    expect(upstream.status).toMatchObject({
      state: "backoff",
      attempts: 1,
      reason: expect.stringContaining("exited with code 3"),
    });
    await expect(callText(upstream, "pid")).rejects.toMatchObject({
      code: "upstream_error",
      data: { nextRetryAt: upstream.status.nextRetryAt },
    });
    await upstream.reconnect();
    expect(await callText(upstream, "echo", { text: "back" })).toBe("back");
  });

  it("T19: the last words of a child are for operators, never for clients", async () => {
    // Words are told; a key among them is not (a UUID has the looks of one).
    const canary = `canary number ${randomInt(1e6)}`;
    const key = randomUUID();
    const upstream = await start();
    const seen: string[] = [];
    const failing = async (tool: string, args: Record<string, unknown>): Promise<void> => {
      const error = await upstream.request(makeCall(tool, args)).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(GatewayError);
      seen.push(JSON.stringify(toRpcError(error as GatewayError)));
    };
    for (let death = 0; death < 4; death++) {
      await reached(upstream, "ready");
      await failing("confess", { text: `${canary} ${key}` });
    }
    expect(upstream.status).toMatchObject({
      state: "backoff",
      reason: expect.stringContaining(`${canary} ***`),
      lastError: expect.stringContaining(`${canary} ***`),
    });
    expect(JSON.stringify(upstream.status)).not.toContain(key);
    await failing("pid", {});
    expect(seen.at(-1)).toContain("(backoff)");
    expect(seen.join()).not.toContain("canary");
  });

  it("50 reconnects at once leave one child", async () => {
    const upstream = await start();
    const pids = new Set([upstream.status.pid]);
    upstream.on((event) => void (event.type === "state" && pids.add(event.status.pid)));
    await Promise.all(Array.from({ length: 50 }, () => upstream.reconnect()));
    await reached(upstream, "ready");
    pids.delete(undefined);
    expect([...pids].filter((pid) => isAlive(pid!))).toEqual([upstream.status.pid]);
    expect(await callText(upstream, "pid")).toBe(String(upstream.status.pid));
  });

  it("close ends the child", async () => {
    const upstream = await start();
    const { pid } = upstream.status;
    expect(isAlive(pid!)).toBe(true);
    await upstream.close(0);
    expect(isAlive(pid!)).toBe(false);
    await expect(callText(upstream, "pid")).rejects.toMatchObject({
      code: "upstream_error",
      data: { state: "closed" },
    });
  });

  it("50 MB arrive as bytes with event loop lag below 300 ms", async () => {
    const upstream = await start();
    let isRaw = false;
    let pieces: readonly (string | Uint8Array)[] = [];
    const longest = await longestTurn(async () => {
      const answer = await upstream.request(makeCall("big", { size: 50_000_000 }));
      isRaw = answer.isRaw;
      pieces = answer.encode(1);
    });
    expect(isRaw).toBe(true);
    expect(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)).toBeGreaterThan(
      50_000_000,
    );
    expect(longest).toBeLessThan(300);
  });

  it.each([["--id-first"], ["--id-last"]])(
    "result_too_large ends exactly the call it happens to, and at once (%s)",
    async (flag) => {
      const upstream = await start([flag], { maxResult: 100_000 });
      const waiting = waits(upstream);
      const longRunning = upstream.request(makeCall("wait"));
      await waiting;
      // The other call is still running when this one is told.
      await expect(upstream.request(makeCall("big", { size: 200_000 }))).rejects.toMatchObject({
        code: "result_too_large",
      });
      const others = await Promise.allSettled([
        callText(upstream, "echo", { text: "fine" }),
        callText(upstream, "release"),
        longRunning,
      ]);
      expect(others.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
      expect(upstream.status.state).toBe("ready");
    },
  );
});

describe("messages that name no call (decision 0003)", () => {
  const asking = (name: string): ReturnType<typeof makePeer> =>
    makePeer({ ask: async (method, params) => ({ name, method, params }) });

  it("go to the only client that has calls in flight", async () => {
    const upstream = await start();
    const peer = { ...asking("anna"), logLevel: "info" };
    const answer = await callText(
      upstream,
      "ask",
      { method: "elicitation/create", prompt: "p" },
      { peer },
    );
    expect(JSON.parse(answer)).toEqual({
      name: "anna",
      method: "elicitation/create",
      params: { prompt: "p" },
    });
    await callText(upstream, "log", { level: "warning" }, { peer });
    await callText(upstream, "log", { level: "debug" }, { peer });
    expect(peer.told).toEqual([
      { method: "notifications/message", params: { level: "warning", data: "text" } },
    ]);
  });

  it("T5: a question is held while several clients have calls in flight, and answered when one is left", async () => {
    const upstream = await start();
    const waiting = waits(upstream);
    const [anna, bert] = [asking("anna"), asking("bert")];
    const abort = new AbortController();
    const berts = upstream.request(makeCall("wait", {}, { peer: bert, signal: abort.signal }));
    await waiting;
    const asked = callText(
      upstream,
      "ask",
      { method: "sampling/createMessage", prompt: "p" },
      { peer: anna },
    );
    let answered = false;
    void asked.then(() => (answered = true));
    // An answer to a later call shows that the question has come: one pipe keeps the order.
    await callText(upstream, "echo", { text: "x" }, { peer: bert });
    abort.abort();
    await expect(berts).rejects.toMatchObject({ code: "cancelled" });
    // A server may still be at work on what was cancelled, so the question may be about that. Its late answer ends this.
    await callText(upstream, "echo", { text: "x" }, { peer: bert });
    expect(answered).toBe(false);
    await callText(upstream, "release", {}, { peer: bert });
    expect(JSON.parse(await asked)).toMatchObject({ name: "anna" });
  });

  it("T5: a question is refused at once when calls of several principals went before", async () => {
    const upstream = await start();
    const principalOf = (id: string) => createPrincipal({ id, kind: "key", roles: new Set() });
    await callText(upstream, "echo", { text: "x" }, { principal: principalOf("anna") });
    const peer = asking("bert");
    const asked = { method: "sampling/createMessage", prompt: "p" };
    const parts = { peer, principal: principalOf("bert") };
    expect(await callText(upstream, "ask", asked, parts)).toBe("error -32603");
  });

  it("T5: a log message is shown to nobody while several clients have calls in flight", async () => {
    const upstream = await start();
    const waiting = waits(upstream);
    const [anna, bert] = [makePeer({ logLevel: "debug" }), makePeer({ logLevel: "debug" })];
    const abort = new AbortController();
    const berts = upstream.request(makeCall("wait", {}, { peer: bert, signal: abort.signal }));
    await waiting;
    await callText(upstream, "log", { level: "error" }, { peer: anna });
    expect([...anna.told, ...bert.told]).toEqual([]);
    abort.abort();
    await expect(berts).rejects.toMatchObject({ code: "cancelled" });
  });

  it("unknown methods are refused and ping is answered", async () => {
    const upstream = await start();
    expect(await callText(upstream, "ask", { method: "ping" })).toBe("{}");
    expect(await callText(upstream, "ask", { method: "files/delete" })).toBe("error -32601");
    const refusing = makePeer({
      ask: () => Promise.reject(new GatewayError("invalid", "The client cannot do that.")),
    });
    expect(await callText(upstream, "ask", { method: "roots/list" }, { peer: refusing })).toBe(
      "error -32602",
    );
  });
});

describe("a child's era", () => {
  it("a child that exits on server/discover is started again and asked initialize", async () => {
    const upstream = await start(["--exit-on-discover"]);
    expect(upstream.status).toMatchObject({ era: "legacy", attempts: 0 });
    expect(await callText(upstream, "echo", { text: "x" })).toBe("x");
  });

  it("a child that never initializes is killed after connectTimeout", async () => {
    const upstream = use(
      makeUpstream({
        command: process.execPath,
        args: [child, "--never-initialize"],
        connectTimeout: "500ms",
        protocol: "legacy",
      }),
    );
    upstream.start();
    await reached(upstream, "backoff");
    expect(upstream.status.reason).toContain("did not finish the handshake within 0.5 s");
    expect(upstream.status.pid).toBeUndefined();
  });

  it("a command that does not exist is a visible state with a next attempt", async () => {
    const upstream = use(makeUpstream({ command: "no-such-command-anywhere" }));
    upstream.start();
    await reached(upstream, "backoff");
    expect(upstream.status).toMatchObject({
      attempts: 1,
      nextRetryAt: expect.any(String),
      reason: expect.stringContaining("no-such-command-anywhere"),
    });
  });
});
