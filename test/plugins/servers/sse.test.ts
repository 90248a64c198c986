import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseParser } from "../../../core/kit/sse.ts";
import { rounds } from "../../fixtures/ci.ts";

interface Seen {
  readonly events: { data: string; type: string; id: string }[];
  readonly retry: number | undefined;
  readonly overflow: number | undefined;
}

function parse(chunks: readonly Buffer[], limit = 1 << 20): Seen {
  const events: Seen["events"] = [];
  let overflow: number | undefined;
  const parser: SseParser = new SseParser(
    {
      event: (data, length, type) => {
        const bytes = Buffer.concat(data);
        expect(bytes.length).toBe(length);
        events.push({ data: bytes.toString("utf8"), type, id: parser.lastEventId });
      },
      overflow: (length) => (overflow = length),
    },
    limit,
  );
  for (const chunk of chunks) parser.push(chunk);
  return { events, retry: parser.retry, overflow };
}

/** The standard's algorithm, line by line on a whole string; data lines are joined by a space as ours are. */
function reference(text: string): Pick<Seen, "events" | "retry"> {
  const events: Seen["events"] = [];
  let data: string[] = [];
  let [type, id, lastId] = ["", "", ""];
  let retry: number | undefined;
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  for (const line of lines.slice(0, -1)) {
    if (line === "") {
      lastId = id;
      if (data.length > 0)
        events.push({ data: data.join(" "), type: type || "message", id: lastId });
      [data, type] = [[], ""];
      continue;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line)!;
    if (name === "data") data.push(value);
    if (name === "event") type = value;
    if (name === "id" && !value.includes("\0")) id = value;
    if (name === "retry" && /^\d{1,9}$/.test(value)) retry = Number(value);
  }
  return { events, retry };
}

const token = fc.constantFrom(
  "data: ",
  "data:",
  "data",
  "id: ",
  "id",
  "event: ",
  "retry: ",
  "retry: 42",
  ":",
  ": x",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "a",
  " ",
  "é",
  "😀",
  "{}",
  "\0",
  "\uFEFF",
  "datax: 1",
);
const stream = fc.array(token, { maxLength: 60 }).map((tokens) => tokens.join(""));

/** Cuts a buffer at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

describe("SseParser", () => {
  it("agrees with the standard's algorithm for any stream cut at any bytes", () => {
    const property = fc.property(
      stream,
      fc.array(fc.nat(400), { maxLength: 12 }),
      (text, places) => {
        const { events, retry } = parse(cut(Buffer.from(text), places));
        expect({ events, retry }).toEqual(reference(text));
      },
    );
    fc.assert(property, { numRuns: rounds(20_000) });
  });

  it("agrees byte by byte", () => {
    const property = fc.property(stream, (text) => {
      const bytes = Buffer.from(text);
      const { events, retry } = parse([...bytes].map((byte) => Buffer.from([byte])));
      expect({ events, retry }).toEqual(reference(text));
    });
    fc.assert(property, { numRuns: rounds(3_000) });
  });

  it("keeps a large event in its chunks and free of line breaks", () => {
    const line = "x".repeat(100_000);
    const text = Buffer.from(`data: ${line}\r\ndata: ${line}\r\n\r\n`);
    const { events } = parse(cut(text, [1, 3, 5, 50_000, 100_006, 100_007, 150_000]));
    expect(events).toEqual([{ data: `${line} ${line}`, type: "message", id: "" }]);
  });

  it("reports an event above the limit once and nothing after it", () => {
    const { events, overflow } = parse(
      [
        Buffer.from("data: 1\n\n"),
        Buffer.from(`data: ${"x".repeat(200)}`),
        Buffer.from("\n\ndata: 2\n\n"),
      ],
      100,
    );
    expect(events.map(({ data }) => data)).toEqual(["1"]);
    expect(overflow).toBeGreaterThan(100);
  });

  it("counts the data lines of one event together", () => {
    const { overflow } = parse(
      [Buffer.from(`data: ${"x".repeat(60)}\n`), Buffer.from(`data: ${"x".repeat(60)}\n\n`)],
      100,
    );
    expect(overflow).toBeGreaterThan(100);
  });
});
