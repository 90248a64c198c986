import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { SSE_HEADERS, SseBody, sseFrame } from "propylon/kit";
import { describe, expect, it, vi } from "vitest";
import { readTypedEvents } from "../../../core/kit/events.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

async function textOf(body: SseBody): Promise<string> {
  return Buffer.from(await body.response().arrayBuffer()).toString();
}

describe("a body of events", () => {
  it("brings every event to its reader, in order and whole, whenever it was written", async () => {
    const written = fc.array(fc.record({ data: fc.json(), late: fc.boolean() }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(written, async (events) => {
        const body = new SseBody();
        for (const { data, late } of events) if (!late) body.write(sseFrame(data, "message"));
        const read = textOf(body);
        await Promise.resolve();
        for (const { data, late } of events) if (late) body.write(sseFrame(data, "message"));
        body.end();
        const bytes = Buffer.from(await read);
        const seen: string[] = [];
        const stream = [bytes] as unknown as AsyncIterable<Uint8Array>;
        for await (const { type, data } of readTypedEvents(stream, 1_000_000, () => new Error()))
          seen.push(`${type} ${data}`);
        const early = events.filter(({ late }) => !late);
        const all = [...early, ...events.filter(({ late }) => late)];
        expect(seen).toEqual(all.map(({ data }) => `message ${data}`));
      }),
    );
  });

  it("tells how much is unsent, and what became of it", async () => {
    const onGone = vi.fn<(how: "read" | "left") => void>();
    const body = new SseBody({ onGone });
    body.write("x".repeat(200_000));
    expect(body.unsent).toBe(200_000);
    body.end();
    body.write("too late");
    expect(await textOf(body)).toHaveLength(200_000);
    expect(onGone.mock.calls).toEqual([["read"]]);
  });

  it("lets nobody wait for a reader who left, or was cut off", async () => {
    for (const leave of ["cancel", "cut"] as const) {
      const onGone = vi.fn<(how: "read" | "left") => void>();
      const body = new SseBody({ onGone });
      const response = body.response();
      body.write("x".repeat(100_000));
      const room = body.whenRoom();
      if (leave === "cancel") await response.body!.cancel();
      else body.cut();
      expect(await room).toBe(false);
      expect(await body.whenRoom()).toBe(false);
      body.write("for nobody");
      expect(body.unsent).toBe(0);
      expect(onGone.mock.calls).toEqual([["left"]]);
    }
  });

  it("was read by a reader who leaves behind the last event", async () => {
    const onGone = vi.fn<(how: "read" | "left") => void>();
    const body = new SseBody({ onGone });
    const reader = body.response().body!.getReader();
    body.write("data: 1\n\n");
    body.end();
    await reader.read();
    await reader.cancel();
    expect(onGone.mock.calls).toEqual([["read"]]);
  });

  it("says that it lives, but only while it is quiet", async () => {
    vi.useFakeTimers();
    const body = new SseBody({ keepAlive: 1_000 });
    vi.advanceTimersByTime(1_000);
    body.write("data: 1\n\n");
    vi.advanceTimersByTime(5_000);
    vi.useRealTimers();
    body.end();
    expect(await textOf(body)).toBe(": keep-alive\n\ndata: 1\n\n");
  });
});

it("nothing else of the product has headers of event streams", () => {
  const files = ["core", "plugins"].flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `${folder}/${path}`),
  );
  const text = (path: string): string => readFileSync(ROOT + path, "utf8");
  const writers = files.filter((path) =>
    /"content-type"[,:]\s*"text\/event-stream"/i.test(text(path)),
  );
  expect(writers).toEqual(["core/kit/sse-body.ts"]);
  expect(SSE_HEADERS["cache-control"]).toContain("no-store");
});
