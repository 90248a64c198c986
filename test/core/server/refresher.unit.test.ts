import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { GatewayError, type Catalogue } from "../../../core/index.ts";
import { type ServerEvent, makeCatalogue, Refresher, StatusTracker } from "../../../core/kit.ts";
import type { RefresherOptions } from "../../../core/server/sdk/refresher.ts";
import { deferred } from "../../kit/deferred.ts";

interface Book {
  readonly title: string;
  readonly catalogue: Catalogue;
}

const bookOf = (title: string): Book => ({
  title,
  catalogue: makeCatalogue({ tools: [{ name: title, inputSchema: { type: "object" } }] }),
});
const away = () => new GatewayError("upstream_error", "Nobody answers.", { hint: "Call again." });
const wrong = () => new GatewayError("invalid", "It is no book.");

/** A reading whose outcomes are those of `read`, with what its server tells. */
function makeReading(
  read: RefresherOptions<Book>["read"],
  options: Partial<RefresherOptions<Book>> = {},
) {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const tracker = new StatusTracker({ server: "shelf", transport: "book", log });
  const events: ServerEvent[] = [];
  tracker.on((event) => void events.push(event));
  const subject = "the book";
  const reading = new Refresher<Book>({
    tracker,
    subject,
    refresh: 300_000,
    timeout: 10_000,
    read,
    ...options,
  });
  /** The states it was in, and the lists that changed. */
  const told = () =>
    events.map((event) => (event.type === "state" ? event.status.state : event.type));
  return { reading, tracker, told, lines };
}

/** Reads what stands in a row, each once. */
function inTurn(...outcomes: (Book | GatewayError)[]) {
  return vi.fn<RefresherOptions<Book>["read"]>(() => {
    const next = outcomes.shift();
    if (next === undefined) throw new Error("read once too often");
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  });
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("a reading", () => {
  it("makes the server ready, and its lists those of what was read", async () => {
    const old = makeCatalogue({ prompts: [{ name: "old" }] });
    const { reading, tracker, told } = makeReading(inTurn(bookOf("poems")), { catalogue: old });
    expect(reading.catalogue).toBe(old);
    reading.start();
    expect(tracker.status).toMatchObject({
      state: "connecting",
      reason: "the book is being read",
    });
    await reading.refresh();
    expect(reading.latest?.title).toBe("poems");
    expect(reading.catalogue.tools.map(({ name }) => name)).toEqual(["poems"]);
    expect(told()).toEqual(["connecting", "changed", "ready"]);
  });

  it("goes on at refresh; M106: the same changes nothing and tells nobody", async () => {
    const book = bookOf("poems");
    const read = inTurn(book, book, bookOf("tales"));
    const { reading, told } = makeReading(read);
    await reading.refresh();
    await vi.advanceTimersByTimeAsync(299_999);
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(read).toHaveBeenCalledTimes(2);
    expect(read.mock.lastCall?.[1]).toBe(book);
    expect(told()).toEqual(["changed", "ready"]);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(told()).toEqual(["changed", "ready", "changed"]);
  });

  it("happens once, however many ask meanwhile, and without refresh only for them", async () => {
    const read = inTurn(bookOf("poems"), bookOf("tales"));
    const { reading } = makeReading(read, { refresh: 0 });
    await Promise.all([reading.refresh(), reading.refresh(), reading.refresh()]);
    expect(read).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
    await reading.refresh();
    expect(reading.latest?.title).toBe("tales");
  });

  it("of what cannot be reached is tried again soon, then ever later, up to a minute", async () => {
    // Nothing is taken off the waits.
    vi.spyOn(Math, "random").mockReturnValue(1);
    onTestFinished(() => void vi.restoreAllMocks());
    const failures = Array.from({ length: 7 }, away);
    const { reading, tracker } = makeReading(inTurn(...failures, bookOf("poems")));
    const waits: number[] = [];
    await reading.refresh();
    for (const _ of failures) {
      const { state, reason, nextRetryAt, since } = tracker.status;
      expect([state, reason]).toEqual(["backoff", "Nobody answers. Call again."]);
      const wait = Date.parse(nextRetryAt!) - Date.parse(since);
      waits.push(wait);
      await vi.advanceTimersByTimeAsync(wait);
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(tracker.status).toMatchObject({ state: "ready", attempts: 0 });
  });

  it("of what is wrong in itself is tried again at refresh; what was read before stays in use", async () => {
    const read = inTurn(wrong(), bookOf("poems"), wrong(), away());
    const { reading, tracker } = makeReading(read);
    await reading.refresh();
    expect(tracker.status).toMatchObject({ state: "failed", reason: "It is no book." });
    await vi.advanceTimersByTimeAsync(299_999);
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(tracker.status.state).toBe("ready");
    for (const attempts of [1, 2]) {
      await reading.refresh();
      expect(tracker.status).toMatchObject({ state: "degraded", attempts });
      expect(await reading.use(({ title }) => Promise.resolve(title))).toBe("poems");
    }
  });

  it("that throws something of its own is a fault for the log, not for the reader", async () => {
    const { reading, tracker, lines } = makeReading(() => Promise.reject(new Error("secret")));
    await reading.refresh();
    expect(tracker.status).toMatchObject({
      state: "failed",
      reason: "The book cannot be understood.",
    });
    expect(lines[0]).toMatchObject({
      err: { message: "secret" },
      msg: "the book could not be used",
    });
  });

  it("that takes too long is ended, and counts as one that could not be reached", async () => {
    const { reading, tracker } = makeReading(
      (signal) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        ),
      { timeout: 5 },
    );
    await reading.refresh();
    expect(tracker.status).toMatchObject({
      state: "backoff",
      reason: 'Server "shelf" did not send the book in time.',
    });
  });
});

describe("a call", () => {
  it("that comes before the first reading has ended waits for it", async () => {
    const { promise, resolve } = deferred<Book>();
    const { reading } = makeReading(() => promise);
    reading.start();
    const call = reading.use(({ title }) => Promise.resolve(title));
    resolve(bookOf("poems"));
    expect(await call).toBe("poems");
  });

  it("is told why there is nothing to work with", async () => {
    const { reading } = makeReading(inTurn(away()));
    const call = () => reading.use(() => Promise.resolve());
    await expect(call()).rejects.toThrow('Server "shelf" cannot be used: it was not started');
    reading.start();
    await expect(call()).rejects.toMatchObject({
      code: "upstream_error",
      message: 'Server "shelf" cannot be used: Nobody answers. Call again.',
      data: { server: "shelf", state: "backoff" },
    });
  });
});

describe("an end", () => {
  it("waits for the calls, reads no more, and takes none", async () => {
    const read = inTurn(bookOf("poems"));
    const { reading } = makeReading(read);
    await reading.refresh();
    const work = deferred<string>();
    const call = reading.use(() => work.promise);
    const closing = reading.close(60_000);
    let isClosed = false;
    void closing.then(() => (isClosed = true));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(isClosed).toBe(false);
    work.resolve("read out");
    expect(await call).toBe("read out");
    await closing;
    await reading.refresh();
    expect(vi.getTimerCount()).toBe(0);
    expect(read).toHaveBeenCalledTimes(1);
    await expect(reading.use(() => Promise.resolve())).rejects.toThrow(/: it was closed$/);
  });

  it("waits no longer than it may, also when it is asked for again with less", async () => {
    const { reading } = makeReading(inTurn(bookOf("poems")));
    await reading.refresh();
    void reading.use(() => new Promise<never>(() => {}));
    const first = reading.close(60_000);
    let isClosed = false;
    void reading.close(0).then(() => (isClosed = true));
    await vi.advanceTimersByTimeAsync(0);
    expect(isClosed).toBe(true);
    await vi.advanceTimersByTimeAsync(60_000);
    await first;
  });

  it("ends the reading under way, whose outcome counts for nothing", async () => {
    const { reading, told } = makeReading(
      (signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(wrong()))),
    );
    reading.start();
    await reading.close(0);
    expect(told()).toEqual(["connecting"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
