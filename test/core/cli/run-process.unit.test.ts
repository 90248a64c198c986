import { EventEmitter } from "node:events";
import type { LogFn } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runProcess, type ProcessGateway } from "../../../core/cli/run-process.ts";

class Host extends EventEmitter {
  readonly exits: (number | "SIGHUP")[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
  hangUp(): void {
    this.exits.push("SIGHUP");
  }
}

const log = {
  info: vi.fn<LogFn>(),
  warn: vi.fn<LogFn>(),
  error: vi.fn<LogFn>(),
  fatal: vi.fn<LogFn>(),
};
let host: Host;
let closing:
  | { grace: number | undefined; done: () => void; fail: (error: Error) => void }
  | undefined;
let drained: number;
let noticed: number;

const gateway: ProcessGateway = {
  config: { timeouts: { grace: 30_000, notice: 0 } },
  giveNotice: () => void noticed++,
  drain: () => void drained++,
  close: (options) =>
    new Promise(
      (resolve, reject) => (closing = { grace: options?.grace, done: resolve, fail: reject }),
    ),
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
  host = new Host();
  closing = undefined;
  drained = 0;
  noticed = 0;
});
afterEach(() => vi.useRealTimers());

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe("runProcess", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"])(
    "%s drains first, then closes with the grace period and exits 0",
    async (signal) => {
      runProcess(gateway, { log, host });
      host.emit(signal);
      expect({ drained, grace: closing?.grace, exits: host.exits }).toEqual({
        drained: 1,
        grace: 30_000,
        exits: [],
      });
      closing!.done();
      await settle();
      expect(host.exits).toEqual([0]);
    },
  );

  describe("with a notice", () => {
    const slow: ProcessGateway = {
      ...gateway,
      config: { timeouts: { grace: 30_000, notice: 5_000 } },
    };

    it("SIGTERM gives it before anything is refused", async () => {
      runProcess(slow, { log, host });
      host.emit("SIGTERM");
      await vi.advanceTimersByTimeAsync(4_999);
      expect({ noticed, drained }).toEqual({ noticed: 1, drained: 0 });
      await vi.advanceTimersByTimeAsync(1);
      expect({ noticed, drained, grace: closing?.grace }).toEqual({
        noticed: 1,
        drained: 1,
        grace: 30_000,
      });
      await vi.advanceTimersByTimeAsync(29_999);
      expect(host.exits).toEqual([]);
      closing!.done();
      await settle();
      expect(host.exits).toEqual([0]);
    });

    it.each(["SIGTERM", "SIGINT"])(
      "%s as the second signal ends it, a third exits at once",
      async (signal) => {
        runProcess(slow, { log, host });
        host.emit("SIGTERM");
        host.emit(signal);
        expect({ noticed, drained, exits: host.exits }).toEqual({
          noticed: 1,
          drained: 1,
          exits: [],
        });
        await vi.advanceTimersByTimeAsync(6_000);
        expect(drained).toBe(1);
        host.emit("SIGTERM");
        expect(host.exits).toEqual([143]);
      },
    );

    it.each(["SIGINT", "SIGHUP", "uncaughtException"])("%s gives none", (event) => {
      runProcess(slow, { log, host });
      host.emit(event, new Error("broken"));
      expect({ noticed, drained }).toEqual({ noticed: 0, drained: 1 });
    });

    it("an uncaught error ends it", async () => {
      runProcess(slow, { log, host });
      host.emit("SIGTERM");
      host.emit("uncaughtException", new Error("broken"));
      closing!.done();
      await vi.advanceTimersByTimeAsync(6_000);
      expect({ drained, exits: host.exits }).toEqual({ drained: 1, exits: [1] });
    });

    it("is not given twice where somebody else gave it", () => {
      runProcess(slow, { log, host, isNotified: true });
      host.emit("SIGTERM");
      expect({ noticed, drained }).toEqual({ noticed: 0, drained: 1 });
    });
  });

  it("exits within 2 s after the grace period, whatever hangs", async () => {
    runProcess(gateway, { log, host });
    host.emit("SIGTERM");
    await vi.advanceTimersByTimeAsync(29_999);
    expect(host.exits).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(host.exits).toEqual([0]);
    expect(log.warn).toHaveBeenCalledOnce();
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ])("a second signal, %s, exits at once with %i", (signal, code) => {
    runProcess(gateway, { log, host });
    host.emit("SIGTERM");
    host.emit(signal);
    expect(host.exits).toEqual([code]);
  });

  it("a copy of Ctrl-C that a runner of scripts passes on is no second signal: calls in flight keep their grace", async () => {
    runProcess(gateway, { log, host });
    host.emit("SIGINT");
    await vi.advanceTimersByTimeAsync(999);
    host.emit("SIGINT");
    expect(host.exits).toEqual([]);
    closing!.done();
    await settle();
    expect(host.exits).toEqual([0]);
  });

  it("Ctrl-C again, a second later, exits at once", async () => {
    runProcess(gateway, { log, host });
    host.emit("SIGINT");
    await vi.advanceTimersByTimeAsync(1_000);
    host.emit("SIGINT");
    expect(host.exits).toEqual([130]);
  });

  it("a close that fails is logged and still ends the process", async () => {
    runProcess(gateway, { log, host });
    host.emit("SIGTERM");
    closing!.fail(new Error("stuck"));
    await settle();
    expect(log.error).toHaveBeenCalledOnce();
    expect(host.exits).toEqual([0]);
  });

  it.each(["uncaughtException", "unhandledRejection"])(
    "%s is fatal: logged, closed soon, exit 1",
    async (event) => {
      runProcess(gateway, { log, host });
      host.emit(event, new Error("broken"));
      host.emit(event, new Error("broken again"));
      expect(log.fatal).toHaveBeenCalledTimes(2);
      expect(closing?.grace).toBe(5_000);
      closing!.done();
      await settle();
      expect(host.exits).toEqual([1]);
    },
  );

  it("SIGHUP reloads where there is something to reload; a failure is logged and nothing ends", async () => {
    let fail = false;
    const onReload = vi.fn<() => void>(() => {
      if (fail) throw new Error("bad file");
    });
    runProcess(gateway, { log, host, onReload, hasTerminal: () => false });
    host.emit("SIGHUP");
    fail = true;
    host.emit("SIGHUP");
    await settle();
    expect(onReload).toHaveBeenCalledTimes(2);
    expect(log.error).toHaveBeenCalledOnce();
    expect({ drained, exits: host.exits }).toEqual({ drained: 0, exits: [] });
  });

  it("SIGHUP ends it, in place of a reload, when the terminal that it was started in is gone", async () => {
    const onReload = vi.fn<() => void>();
    let hasTerminal = true;
    runProcess(gateway, { log, host, onReload, hasTerminal: () => hasTerminal });
    host.emit("SIGHUP");
    expect({ drained, reloads: onReload.mock.calls.length }).toEqual({ drained: 0, reloads: 1 });
    hasTerminal = false;
    host.emit("SIGHUP");
    expect({ drained, reloads: onReload.mock.calls.length }).toEqual({ drained: 1, reloads: 1 });
    closing!.done();
    await settle();
    expect(host.exits).toEqual(["SIGHUP"]);
  });

  it("exits only when the log is written, unless nobody reads it", async () => {
    let written = (): void => {};
    const flush = vi.fn<(done?: () => void) => void>((done) => void (written = done!));
    runProcess(gateway, { log: { ...log, flush }, host });
    host.emit("SIGTERM");
    closing!.done();
    await settle();
    expect({ flushed: flush.mock.calls.length, exits: host.exits }).toEqual({
      flushed: 1,
      exits: [],
    });
    written();
    expect(host.exits).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(host.exits).toEqual([0]);

    const other = new Host();
    runProcess(gateway, { log: { ...log, flush }, host: other });
    other.emit("SIGTERM");
    closing!.done();
    await vi.advanceTimersByTimeAsync(499);
    expect(other.exits).toEqual([0]);
  });

  it("takes its handlers away again", () => {
    runProcess(gateway, { log, host })();
    expect(host.eventNames()).toEqual([]);
  });
});
