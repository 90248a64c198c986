import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { GatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../plugins/servers/wire/clock.ts";
import type { Connection } from "../../../plugins/servers/connection/connection.ts";
import { Liveness } from "../../../plugins/servers/connection/liveness.ts";
import { callText, makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { serveNew, serveOld } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();
const CHILD = fileURLToPath(new URL("support/child.mjs", import.meta.url));

function startChild(ping: string, ...flags: string[]) {
  const upstream = use(makeUpstream({ command: process.execPath, args: [CHILD, ...flags], ping }));
  upstream.start();
  return upstream;
}

/** The state letter of a process; gone and zombie are both `Z`. */
function processState(pid: number): string {
  try {
    return / ([A-Z]) \d/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))![1]!;
  } catch {
    return "Z";
  }
}

/** A clock whose one timer goes off when told. */
class StepClock implements Clock {
  callback: (() => void) | undefined;
  now(): number {
    return 0;
  }
  random(): number {
    return 0.5;
  }
  after(_ms: number, callback: () => void): () => void {
    this.callback = callback;
    return () => (this.callback = undefined);
  }
  /** Fires the timer and lets what it began come to its end. */
  async step(): Promise<void> {
    const { callback } = this;
    this.callback = undefined;
    callback?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function watch(inFlight: number, knows?: (method: string) => boolean) {
  const seen = { answers: true, asked: [] as string[], lost: [] as GatewayError[], changes: 0 };
  const connection = {
    name: "s",
    inFlight,
    heard: 0,
    handshake: { era: "legacy", capabilities: knows ? { tools: {} } : {} },
    request(method: string) {
      seen.asked.push(method);
      return seen.answers && (knows?.(method) ?? true)
        ? Promise.resolve({})
        : Promise.reject(new GatewayError("timeout", "No answer."));
    },
    receiver: { lost: (error: GatewayError) => void seen.lost.push(error) },
  } as unknown as Connection;
  const clock = new StepClock();
  const liveness = new Liveness({
    connection,
    interval: 30_000,
    clock,
    changed: () => void seen.changes++,
  });
  return { seen, clock, liveness, connection };
}

describe("pings", () => {
  it.each([
    ["an idle connection", 0, 3],
    ["one with a call that may keep the server busy", 1, 10],
  ])("give up %s after so many misses", async (_, inFlight, misses) => {
    const { seen, clock, liveness } = watch(inFlight);
    await clock.step();
    expect({ ...seen, problem: liveness.problem }).toMatchObject({ changes: 0, lost: [] });
    seen.answers = false;
    for (let miss = 1; miss < misses; miss++) await clock.step();
    expect(seen).toMatchObject({ lost: [], changes: 1 });
    expect(liveness.problem).toBe("No answer. It may hang.");
    await clock.step();
    expect(seen.lost.map(({ message }) => message)).toEqual([
      `Server "s" gave no sign of life ${misses} times in a row.`,
    ]);
    expect(clock.callback).toBeUndefined();
  });

  it("one answer forgives what was missed", async () => {
    const { seen, clock, liveness } = watch(0);
    for (const answers of [false, false, true, false, false]) {
      seen.answers = answers;
      await clock.step();
    }
    expect(seen.lost).toEqual([]);
    expect(liveness.problem).toBeDefined();
    seen.answers = true;
    await clock.step();
    expect(liveness.problem).toBeUndefined();
    liveness.close();
    expect(clock.callback).toBeUndefined();
  });

  it("mcp-24: any message of the server counts, be it the answer to a call", async () => {
    const { seen, clock, liveness, connection } = watch(0);
    seen.answers = false;
    for (let miss = 0; miss < 20; miss++) {
      (connection as { heard: number }).heard++;
      await clock.step();
    }
    expect({ ...seen, problem: liveness.problem }).toMatchObject({ lost: [], changes: 0 });
    for (let miss = 0; miss < 3; miss++) await clock.step();
    expect(seen.lost).toHaveLength(1);
  });

  it("mcp-24: one that knows no ping is asked for a list, and from then on for that alone", async () => {
    const { seen, clock } = watch(0, (method) => method !== "ping");
    for (let round = 0; round < 5; round++) await clock.step();
    expect(seen).toMatchObject({ lost: [], changes: 0 });
    expect(seen.asked).toEqual(["ping", ...Array.from({ length: 5 }, () => "tools/list")]);
    seen.answers = false;
    for (let miss = 0; miss < 3; miss++) await clock.step();
    expect(seen.lost).toHaveLength(1);
    expect(seen.asked.slice(6)).toEqual(["tools/list", "tools/list", "tools/list"]);
  });

  it("mcp-24: one that has answered a ping is asked for nothing else when it hangs", async () => {
    const { seen, clock } = watch(0, () => true);
    await clock.step();
    seen.answers = false;
    for (let miss = 0; miss < 3; miss++) await clock.step();
    expect([seen.lost.length, seen.asked]).toEqual([1, ["ping", "ping", "ping", "ping"]]);
  });

  it("mcp-24: a child that never answers a ping keeps its process and what it knows", async () => {
    const upstream = startChild("60ms", "--no-ping");
    const states: string[] = [];
    upstream.on((event) => event.type === "state" && states.push(event.status.state));
    await reached(upstream, "ready");
    const { pid } = upstream.status;
    expect(await callText(upstream, "count")).toBe("1");
    for (let asked = 0; asked < 5; asked++)
      await nextEvent(upstream, "notification", ({ method }) => method.endsWith("/listed"));
    expect(await callText(upstream, "count")).toBe("2");
    expect([upstream.status.pid, states]).toEqual([pid, ["ready"]]);
  });

  it("a child that hangs does not stay ready: degraded with the reason, then ended and started anew", async () => {
    const upstream = startChild("100ms");
    await reached(upstream, "ready");
    const pid = upstream.status.pid!;
    process.kill(pid, "SIGSTOP");
    await reached(upstream, "degraded");
    expect(upstream.status.reason).toBe(
      'Server "test" did not answer ping within 0.1 s. It may hang.',
    );
    await reached(upstream, "connecting");
    expect(upstream.status.reason).toContain("gave no sign of life 3 times in a row");
    await reached(upstream, "ready");
    expect(upstream.status.pid).not.toBe(pid);
    expect(processState(pid)).toBe("Z");
    expect(await callText(upstream, "echo", { text: "back" })).toBe("back");
  });

  it("a child that only slept is ready again, and the same", async () => {
    const upstream = startChild("700ms");
    await reached(upstream, "ready");
    const pid = upstream.status.pid!;
    process.kill(pid, "SIGSTOP");
    await nextEvent(upstream, "state", ({ status }) => status.state === "degraded");
    process.kill(pid, "SIGCONT");
    await reached(upstream, "ready");
    expect(upstream.status).toMatchObject({ pid, reason: undefined });
  });

  it.each([
    ["a legacy server over HTTP", serveOld, "30s", true],
    ["none when switched off", serveOld, "0", false],
    ["none for a modern server over HTTP: it has no connection to lose", serveNew, "30s", false],
  ] as const)("%s", async (_, serve, ping, pinged) => {
    const server = use(await serve(() => undefined));
    const clock = new StepClock();
    const upstream = use(makeUpstream({ url: server.url, ping }, { clock }));
    upstream.start();
    // Only once everything a connection needs is done is there a timer, or none.
    await upstream.reconnect();
    expect(upstream.status.state).toBe("ready");
    expect(clock.callback !== undefined).toBe(pinged);
  });
});

it("reconnect resolves when the server is ready, not while it is connecting", async () => {
  const upstream = startChild("0");
  await reached(upstream, "ready");
  const { pid } = upstream.status;
  await upstream.reconnect();
  expect(upstream.status.state).toBe("ready");
  expect(upstream.status.pid).not.toBe(pid);
  expect(upstream.catalogue.tools.length).toBeGreaterThan(0);
});
