import { expect, it } from "vitest";
import { JobLine } from "../../../plugins/tasks/jobs/job-line.ts";

it("has what came first in front, whatever went before it", () => {
  const line = new JobLine<number>();
  for (let at = 0; at < 5; at++) line.add(at);
  line.add(2);
  expect([...line]).toEqual([0, 1, 2, 3, 4]);
  expect([line.delete(0), line.delete(0)]).toEqual([true, false]);
  line.delete(2);
  line.delete(4);
  expect([...line]).toEqual([1, 3]);
  line.add(0);
  expect([...line]).toEqual([1, 3, 0]);
  expect([line.size, line.has(0), line.has(4)]).toEqual([3, true, false]);
});

it("goes on behind one that is deleted in its turn, and is empty behind the last", () => {
  const line = new JobLine<number>();
  for (let at = 0; at < 4; at++) line.add(at);
  const seen: number[] = [];
  for (const value of line) {
    seen.push(value);
    line.delete(value);
  }
  expect(seen).toEqual([0, 1, 2, 3]);
  expect([line.size, [...line]]).toEqual([0, []]);
  line.add(7);
  expect([...line]).toEqual([7]);
});
