import { createParser, type EventSourceMessage } from "eventsource-parser";
import { assert, property, record, string, integer, constantFrom, array } from "fast-check";
import type { EventData } from "propylon/plugins/events";
import { describe, expect, it } from "vitest";
import { ChannelEvent, type Frame } from "../../../plugins/events/event.ts";
import { KINDS } from "../../../plugins/events/kinds.ts";
import { EventRing } from "../../../plugins/events/ring.ts";
import { SseOutlet } from "../../../plugins/events/sse.ts";
import { Stream, type Outlet } from "../../../plugins/events/stream.ts";
import type { Subscription } from "../../../plugins/events/subscription.ts";
import { rounds } from "../../fixtures/ci.ts";

const ALL: Subscription = {
  audience: "operator",
  reader: "key:ops",
  kinds: new Set(KINDS),
  isOpen: true,
  accesses: new Set(["viewer", "operator"]),
  level: "trace",
  lastEventId: undefined,
};

/** Any text, with line breaks, separators and SSE's own words in it more often than chance has it. */
const anyText = array(
  constantFrom(
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u2028",
    "\u0085",
    "\0",
    "id: 1",
    "event: closing",
    "data: {}",
    ":",
    "\uFEFF",
  ),
).chain((parts) => string({ unit: "binary" }).map((text) => parts.join(text)));

function parse(frames: readonly Frame[]): EventSourceMessage[] {
  const parsed: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void parsed.push(event) });
  const decoder = new TextDecoder();
  for (const { bytes } of frames) parser.feed(decoder.decode(bytes, { stream: true }));
  return parsed;
}

describe("an event", () => {
  it("T10: whatever is in tool names, messages and log lines, a real parser sees exactly that one event", () => {
    const progress = record({
      call: anyText,
      server: anyText,
      tool: anyText,
      phase: constantFrom("progress" as const),
      progress: integer(),
      total: constantFrom(null),
      message: anyText,
    });
    assert(
      property(progress, anyText, (report, line) => {
        const events = [
          new ChannelEvent("progress", report),
          new ChannelEvent(
            "state_changed",
            { server: line, tool: line, enabled: true },
            { id: "a-1" },
          ),
          new ChannelEvent("log", { line: { msg: line } }),
        ] as ChannelEvent[];
        const frames = events.map((event) => event.frame("viewer"));
        const parsed = parse(frames);
        expect(parsed.map(({ event }) => event)).toEqual(["progress", "state_changed", "log"]);
        expect(JSON.parse(parsed[0]!.data)).toMatchObject(report);
        for (const [index, { text }] of frames.entries()) {
          const message = JSON.parse(text) as { event: string; data: unknown; id?: string };
          expect(message.event).toBe(parsed[index]!.event);
          expect(message.data).toEqual(JSON.parse(parsed[index]!.data));
          expect(message.id).toBe(index === 1 ? "a-1" : undefined);
        }
      }),
      { numRuns: rounds(2_000) },
    );
  });

  it("T19: what a child may have said last is for operators, and an event is written once per audience", () => {
    const event = new ChannelEvent("upstream_state", {
      server: "a",
      state: "backoff",
      since: "",
      attempts: 1,
      transport: "stdio",
      reason: "canary",
    });
    expect(event.frame("operator").text).toContain("canary");
    const viewed = event.frame("viewer");
    expect(viewed.text + new TextDecoder().decode(viewed.bytes)).not.toContain("canary");
    expect(event.frame("viewer")).toBe(viewed);
  });
});

describe("Ring", () => {
  it("keeps within its bounds, and tells either everything after a number or that it cannot", () => {
    assert(
      property(
        integer({ min: 0, max: 20 }),
        integer({ min: 200, max: 4_000 }),
        array(string({ maxLength: 50 }), { maxLength: 60 }),
        (events, bytes, names) => {
          const ring = new EventRing();
          const all = names.map((server, at) => {
            const event = new ChannelEvent("server_added", { server }, { id: `i-${at + 1}` });
            ring.add(at + 1, event, { events, bytes });
            return event;
          });
          const whole = Array.from({ length: names.length + 1 }, (_, number) => number);
          const reachable = whole.filter((number) => ring.after(number) !== undefined);
          for (const number of reachable) expect(ring.after(number)).toEqual(all.slice(number));
          const kept = ring.after(reachable[0]!)!;
          expect(kept.length).toBeLessThanOrEqual(events);
          const size = kept.map((event) => event.frame("operator").bytes.length);
          expect(size.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(bytes);
          expect(ring.after(names.length + 1)).toBeUndefined();
        },
      ),
    );
  });
});

describe("Stream", () => {
  /** A reader that takes as many bytes as it is told. */
  class Pipe implements Outlet {
    readonly frames: Frame[] = [];
    unsent = 0;
    ended: boolean | undefined;
    write(frame: Frame): void {
      this.frames.push(frame);
      this.unsent += frame.bytes.length;
    }
    beat(): void {}
    end(overflow: boolean): void {
      this.ended = overflow;
    }
    cut(): void {}
  }

  it("queues no more than its limit, leaves nothing out in silence, and says so when it ends", () => {
    const step = record({
      kind: constantFrom("server_added", "log"),
      size: integer({ min: 0, max: 300 }),
      read: integer({ min: 0, max: 500 }),
    });
    assert(
      property(array(step, { maxLength: 200 }), (steps) => {
        const pipe = new Pipe();
        const limit = 2_000;
        const stream = new Stream(pipe, ALL, limit);
        let pushed = 0;
        for (const { kind, size, read } of steps) {
          pipe.unsent = Math.max(0, pipe.unsent - read);
          if (pipe.ended !== undefined) break;
          const server = "x".repeat(size);
          const event =
            kind === "log"
              ? new ChannelEvent("log", { line: { server } })
              : new ChannelEvent("server_added", { server });
          stream.push(event);
          if (pipe.ended === undefined) pushed++;
          // A gap or the word that it is over may come on top.
          expect(pipe.unsent).toBeLessThanOrEqual(limit + 200);
        }
        if (pipe.ended === undefined) {
          pipe.unsent = 0;
          stream.beat();
        }
        type Message = { event: string; data: EventData["gap"] };
        const messages = pipe.frames.map(({ text }) => JSON.parse(text) as Message);
        const missed = messages
          .filter(({ event }) => event === "gap")
          .reduce((sum, { data }) => sum + data.missed!, 0);
        const shown = messages.filter(
          ({ event }) => event === "log" || event === "server_added",
        ).length;
        const ends = messages.at(-1)?.event === "overflow";
        expect(ends).toBe(pipe.ended === true);
        expect(ends || shown + missed === pushed).toBe(true);
        stream.drop();
      }),
    );
  });

  it("a body that nobody reads holds at most 1 MiB of 15, and ends with the word that it overflowed", async () => {
    let gone = 0;
    const outlet = new SseOutlet(() => void gone++);
    const stream = new Stream(outlet, ALL, 1_048_576);
    const event = new ChannelEvent("server_added", { server: "x".repeat(1_000) });
    for (let sent = 0; sent < 15 * 1_048; sent++) stream.push(event);
    const bytes = Buffer.from(await outlet.response().arrayBuffer());
    expect(bytes.length).toBeGreaterThan(1_000_000);
    expect(bytes.length).toBeLessThanOrEqual(1_048_576 + 200);
    expect(bytes.subarray(-200).toString()).toContain("event: overflow");
    expect(gone).toBe(1);
    stream.drop();
  });
});
