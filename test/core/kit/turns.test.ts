import { once } from "node:events";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { readInTurns } from "../../../core/internal.ts";

/** Keeps the processor. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it("S2-3: the work of many small chunks adds up to a turn", async () => {
  let inTurn = 0;
  let longest = 0;
  const count = (): void => {
    inTurn = 0;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const stream = Readable.from(Array.from({ length: 60 }, () => Buffer.alloc(10)));
  let read = 0;
  readInTurns(stream, (bytes) => {
    read += bytes.length;
    longest = Math.max(longest, ++inTurn);
    work(4);
  });
  await once(stream, "end");
  clearImmediate(next);
  expect(read).toBe(600);
  // Three make a turn of 10 ms, and another may begin before the next immediate.
  expect(longest).toBeLessThanOrEqual(6);
});

it("S2-3: what somebody holds stays held at the end of a turn", async () => {
  const stream = new Readable({ read() {} });
  let read = 0;
  const turns = readInTurns(stream, (bytes) => {
    read += bytes.length;
    turns.pause();
    work(12);
  });
  stream.push(Buffer.alloc(10));
  stream.push(Buffer.alloc(10));
  for (let count = 0; count < 10; count++) await new Promise(setImmediate);
  expect(read).toBe(10);
  expect(turns.unread).toBe(10);
  turns.resume();
  for (let count = 0; count < 10; count++) await new Promise(setImmediate);
  expect(read).toBe(20);
});
