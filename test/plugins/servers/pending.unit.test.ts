import { expect, it } from "vitest";
import { type Awaited, Pending } from "../../../plugins/servers/wire/exchange.ts";

const request = (number: number): Awaited => ({
  id: `s-${number.toString(36).padStart(3, "0")}`,
  slot: -1,
  below: undefined,
});

it("finds every request by its id and forgets those that are done, be they one or thousands", () => {
  const pending = new Pending<Awaited>();
  const all = Array.from({ length: 3_000 }, (_, number) => request(number));
  for (const [index, each] of all.entries()) {
    pending.add(each);
    expect(pending.get(all[index >> 1]!.id)).toBe(all[index >> 1]);
  }
  for (const each of all) expect(pending.get(each.id)).toBe(each);
  expect([...pending.values()]).toHaveLength(all.length);
  for (const [index, each] of all.entries()) {
    expect(pending.delete(each)).toBe(true);
    expect(pending.delete(each)).toBe(false);
    expect(pending.get(each.id)).toBeUndefined();
    const next = all[index + 1];
    expect(next && pending.get(next.id)).toBe(next);
  }
  expect([...pending.values()]).toEqual([]);
});
