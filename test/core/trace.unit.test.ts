import fc from "fast-check";
import { traceOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { adoptTrace, cleanTrace, traceHeaders } from "../../core/call/trace.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom(...Array.from("0123456789abcdef")),
    minLength: length,
    maxLength: length,
  });
const nonZero = (length: number): fc.Arbitrary<string> =>
  hex(length).filter((text) => /[^0]/.test(text));
const traceparent = fc
  .tuple(nonZero(32), nonZero(16), hex(2))
  .map(([trace, parent, flags]) => `00-${trace}-${parent}-${flags}`);

describe("W3C trace context", () => {
  it("R010: every valid traceparent is passed on as it came, from headers, a Headers object and _meta alike", () => {
    fc.assert(
      fc.property(traceparent, (value) => {
        expect(traceOf({ traceparent: value })).toEqual({ traceparent: value });
        expect(traceOf(new Headers({ traceparent: value }))).toEqual({ traceparent: value });
        expect(cleanTrace({ traceparent: value, other: 1 })).toEqual({
          traceparent: value,
          other: 1,
        });
        expect(traceHeaders({ traceparent: value })).toEqual(["traceparent", value]);
      }),
    );
  });

  it("R070: a traceparent with one character changed to what W3C does not allow is dropped, and its tracestate with it", () => {
    const wrong = fc.constantFrom("g", "A", "F", " ", "\n", "\r", "_", "é", "\0");
    fc.assert(
      fc.property(traceparent, fc.nat(54), wrong, (value, at, character) => {
        const broken = value.slice(0, at) + character + value.slice(at + 1);
        const meta = { traceparent: broken, tracestate: "a=1" };
        expect(traceOf(meta)).toBeUndefined();
        expect(cleanTrace(meta)).toBeUndefined();
        expect(traceHeaders(meta)).toBeUndefined();
        expect(traceHeaders({ traceparent: broken })).toBeUndefined();
        expect(adoptTrace(undefined, meta)).toBeUndefined();
      }),
    );
  });

  it.each([
    ["an empty text", ""],
    ["version ff", TRACEPARENT.replace(/^00/, "ff")],
    ["a trace id of zeros", `00-${"0".repeat(32)}-b7ad6b7169203331-01`],
    ["a parent id of zeros", `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01`],
    ["a fifth field in version 00", `${TRACEPARENT}-extra`],
    ["a trailing dash in version 00", `${TRACEPARENT}-`],
    ["two headers, joined", `${TRACEPARENT}, ${OTHER}`],
    ["a line break behind it", `${TRACEPARENT}\n`],
    ["a header smuggled in", `${TRACEPARENT}\r\nauthorization: Bearer x`],
    ["a number", 1],
    ["a list", [TRACEPARENT]],
  ])("R070: %s is no traceparent", (_what, value) => {
    expect(traceOf({ traceparent: value })).toBeUndefined();
  });

  it("passes on a later version, with fields it does not know", () => {
    const later = `${TRACEPARENT.replace(/^00/, "01")}-more.to-come`;
    expect(traceOf({ traceparent: later })).toEqual({ traceparent: later });
  });

  it.each([
    ["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true],
    ["tenant@vendor=1, b=2 ,,c=3", true],
    ["", false],
    ["Upper=1", false],
    ["a=1,a=2", false],
    ["a", false],
    ["a=1\r\nb: 2", false],
    [Array.from({ length: 32 }, (_, n) => `k${n}=v`).join(), true],
    [Array.from({ length: 33 }, (_, n) => `k${n}=v`).join(), false],
  ])("keeps tracestate %j: %j, and the traceparent in any case", (tracestate, kept) => {
    const trace = traceOf({ traceparent: TRACEPARENT, tracestate });
    expect(trace).toEqual({ traceparent: TRACEPARENT, ...(kept && { tracestate }) });
  });

  it("T1: whatever a client writes there, a header made of it holds one line of printable ASCII", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string().map((tail) => `a=1${tail}`),
      fc.constantFrom(TRACEPARENT, "a=1\r\nx: y", "\u0000"),
    );
    fc.assert(
      fc.property(text, text, text, (one, tracestate, baggage) => {
        const headers = traceHeaders({ traceparent: one, tracestate, baggage }) ?? [];
        for (const part of headers) expect(part).toMatch(/^[\x20-\x7e\t]+$/);
      }),
    );
  });

  it("T13: takes no tracestate that is longer than its members can be, though empty ones count for nothing", () => {
    const meta = { traceparent: TRACEPARENT, tracestate: `a=1${",".repeat(20_000)}` };
    expect(traceOf(meta)).toEqual({ traceparent: TRACEPARENT });
    const longest = Array.from(
      { length: 32 },
      (_, at) => `${`k${at}`.padEnd(256, "x")}=${"v".repeat(256)}`,
    );
    expect(traceOf({ ...meta, tracestate: longest.join(" , ") })).toHaveProperty("tracestate");
  });

  it("leaves other members of _meta alone, and the object itself when it has no trace context", () => {
    const meta = JSON.parse('{"__proto__":{"a":1},"vendor/key":2}') as Record<string, unknown>;
    expect(cleanTrace(meta)).toBe(meta);
    const clean = cleanTrace({ ...meta, baggage: "a=1", traceparent: "x" })!;
    expect(Object.keys(clean).toSorted()).toEqual(["__proto__", "baggage", "vendor/key"]);
  });

  it("R010: what _meta says of a trace counts, the headers only where it says nothing valid", () => {
    const headers = { traceparent: TRACEPARENT, tracestate: "a=1", baggage: "user=1" };
    expect(adoptTrace(undefined, headers)).toEqual(headers);
    expect(adoptTrace({ x: 1 }, headers)).toEqual({ x: 1, ...headers });
    expect(adoptTrace({ traceparent: OTHER }, headers)).toEqual({ traceparent: OTHER });
    expect(adoptTrace({ traceparent: "broken", tracestate: "b=2" }, headers)).toEqual(headers);
    expect(adoptTrace({ baggage: "own=1" }, headers)).toEqual({ ...headers, baggage: "own=1" });
    expect(adoptTrace(undefined, {})).toBeUndefined();
  });
});
