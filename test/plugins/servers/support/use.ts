import { afterEach } from "vitest";

type Closable = { close(graceMs: number): Promise<unknown> };

/** Returns a function that registers something to be closed after the test, last one first. */
export function closing(): <T extends Closable>(each: T) => T {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each.close(0);
  });
  return (each) => {
    open.push(each);
    return each;
  };
}
