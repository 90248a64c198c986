import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { type ServerEvent, StatusTracker } from "../../../core/kit.ts";

function makeStanding() {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { lines, standing: new StatusTracker({ server: "book", transport: "phrases", log }) };
}

describe("the standing of a server", () => {
  it("is idle at first, or as it is said", () => {
    const { standing } = makeStanding();
    expect(standing.status).toMatchObject({ state: "idle", attempts: 0, transport: "phrases" });
    const { log } = standing;
    const local = new StatusTracker({ server: "here", transport: "local", log, state: "ready" });
    expect(local.status.state).toBe("ready");
  });

  it("changes with its reason and the time of the next attempt, in the log and for whoever listens", () => {
    const { lines, standing } = makeStanding();
    const told: ServerEvent[] = [];
    const leave = standing.on((event) => void told.push(event));
    const begun = Date.now();
    standing.set("backoff", { reason: "Nobody answers.", attempts: 2, wait: 60_000 });
    const { status } = standing;
    expect(status).toMatchObject({
      state: "backoff",
      attempts: 2,
      reason: "Nobody answers.",
      lastError: "Nobody answers.",
    });
    expect(Date.parse(status.nextRetryAt!) - begun).toBeGreaterThanOrEqual(60_000);
    expect(told).toEqual([{ type: "state", status }]);
    expect(lines).toEqual([
      {
        level: "warn",
        server: "book",
        state: "backoff",
        reason: "Nobody answers.",
        nextRetryAt: status.nextRetryAt,
        msg: "server state: backoff",
      },
    ]);
    leave();
    standing.protocolVersion = "2";
    standing.set("ready");
    expect(told).toHaveLength(1);
    expect(lines[1]).toEqual({
      level: "info",
      server: "book",
      state: "ready",
      msg: "server state: ready",
    });
    expect(standing.status).toEqual({
      state: "ready",
      since: standing.status.since,
      attempts: 0,
      transport: "phrases",
      protocolVersion: "2",
    });
  });

  it("newcomer 7: tells since when it has been down, however often it was tried", () => {
    const { standing } = makeStanding();
    expect(standing.status.downSince).toBeUndefined();
    standing.set("connecting", { reason: "Connecting." });
    const { downSince } = standing.status;
    expect(downSince).toBe(standing.status.since);
    standing.announce({ ...standing.status, state: "backoff", since: "later", attempts: 1 });
    standing.announce({ ...standing.status, state: "connecting", since: "later still" });
    expect(standing.status).toMatchObject({ since: "later still", downSince });
    standing.set("ready");
    expect(standing.status.downSince).toBeUndefined();
  });

  it("is closed for good", () => {
    const { lines, standing } = makeStanding();
    standing.set("closed", { reason: "it was closed" });
    const { status } = standing;
    standing.set("ready");
    standing.set("closed");
    expect(standing.status).toBe(status);
    expect(lines).toHaveLength(1);
  });

  it("is told to everyone, also after a listener that throws", () => {
    const { lines, standing } = makeStanding();
    const told: string[] = [];
    standing.on(() => {
      throw new Error("not me");
    });
    standing.on(({ type }) => void told.push(type));
    standing.emit({ type: "changed", lists: ["tools"] });
    expect(told).toEqual(["changed"]);
    expect(lines).toMatchObject([{ level: "error", msg: "listener of a server failed" }]);
  });
});
