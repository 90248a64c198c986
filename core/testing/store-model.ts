import assert from "node:assert/strict";
import { expect, it } from "vitest";
import type { StoreDriver } from "../store/driver.ts";
import { fresh, type StoreUnderTest } from "./store-under-test.ts";

/** Steps between two comparisons of everything. */
const COMPARE = 250;

interface ModelEntry {
  readonly value: string;
  readonly rev: number;
}

/** Random steps on a store and on a map beside it; what they answer and what they hold must be the same. */
export function testStoreModel(under: StoreUnderTest, steps: number, seed: number): void {
  it(
    `is as its model after ${steps} random steps (seed ${seed})`,
    { timeout: 60_000 + steps * 20 },
    async () => {
      const walk = new Walk(under.driver, createRandom(seed));
      for (let step = 1; step <= steps; step++) {
        await walk.step();
        if (step % COMPARE === 0) await walk.compare();
      }
      await walk.compare();
      expect(walk.steps).toBe(steps);
    },
  );
}

class Walk {
  steps = 0;
  readonly #driver: StoreDriver;
  readonly #random: (below: number) => number;
  readonly #bucket = fresh();
  readonly #log = fresh();
  readonly #entries = new Map<string, ModelEntry>();
  #logged: { readonly value: string; readonly seq: number }[] = [];
  #highest = 0;

  constructor(driver: StoreDriver, random: (below: number) => number) {
    this.#driver = driver;
    this.#random = random;
  }

  step(): Promise<void> {
    this.steps++;
    const steps = [
      () => this.#put(),
      () => this.#update(),
      () => this.#create(),
      () => this.#delete(),
      () => this.#get(),
      () => this.#list(),
      () => this.#append(),
      () => this.#read(),
      () => this.#trim(),
    ];
    return steps[this.#random(steps.length)]!();
  }

  async compare(): Promise<void> {
    const there = await this.#driver.list(this.#bucket, { prefix: "", limit: 10_000 });
    const entries = [...this.#entries].map(([key, entry]) => ({ key, ...entry }));
    assert.deepEqual(
      there,
      entries.toSorted((left, right) => (left.key < right.key ? -1 : 1)),
    );
    const logged = await this.#driver.read(this.#log, 0, 10_000);
    assert.deepEqual(
      logged.map(({ value, seq }) => ({ value, seq })),
      this.#logged,
    );
  }

  get #key(): string {
    return `${"abc"[this.#random(3)]}/${this.#random(12)}`;
  }

  async #put(): Promise<void> {
    await this.#write(this.#key, undefined, true);
  }

  async #update(): Promise<void> {
    const key = this.#key;
    const there = this.#entries.get(key)?.rev ?? 0;
    const rev = this.#random(3) === 0 ? Math.max(0, there - 1) : there;
    await this.#write(key, rev, rev === there);
  }

  async #create(): Promise<void> {
    const key = this.#key;
    await this.#write(key, 0, !this.#entries.has(key));
  }

  async #write(key: string, rev: number | undefined, isRight: boolean): Promise<void> {
    const value = `value ${this.#random(1_000_000)}`;
    const written = await this.#driver.put(
      this.#bucket,
      key,
      value,
      rev === undefined ? {} : { rev },
    );
    assert.equal(written !== undefined, isRight);
    if (written === undefined) return;
    assert.ok(written > this.#highest);
    this.#highest = written;
    this.#entries.set(key, { value, rev: written });
  }

  async #delete(): Promise<void> {
    const key = this.#key;
    const there = this.#entries.get(key);
    const rev = this.#random(2) === 0 ? undefined : (there?.rev ?? 0) + this.#random(2);
    const isRight = there !== undefined && (rev === undefined || rev === there.rev);
    assert.equal(await this.#driver.delete(this.#bucket, key, rev), isRight);
    if (isRight) this.#entries.delete(key);
  }

  async #get(): Promise<void> {
    const key = this.#key;
    assert.deepEqual(await this.#driver.get(this.#bucket, key), this.#entries.get(key));
  }

  async #list(): Promise<void> {
    const prefix = ["", "a/", "b/1", "c"][this.#random(4)]!;
    const after = this.#random(2) === 0 ? undefined : this.#key;
    const limit = 1 + this.#random(20);
    const keys = [...this.#entries.keys()].filter(
      (key) => key.startsWith(prefix) && key > (after ?? ""),
    );
    const there = await this.#driver.list(this.#bucket, { prefix, after, limit });
    assert.deepEqual(
      there.map(({ key }) => key),
      keys.toSorted().slice(0, limit),
    );
  }

  async #append(): Promise<void> {
    const values = Array.from(
      { length: 1 + this.#random(4) },
      () => `entry ${this.#random(1_000_000)}`,
    );
    const last = await this.#driver.append(this.#log, values);
    const after = this.#logged.at(-1)?.seq ?? 0;
    const added = await this.#driver.read(this.#log, after, 100);
    assert.deepEqual(
      added.map(({ value }) => value),
      values,
    );
    assert.equal(added.at(-1)!.seq, last);
    this.#logged.push(...added.map(({ value, seq }) => ({ value, seq })));
  }

  async #read(): Promise<void> {
    const after = this.#logged[this.#random(this.#logged.length + 1)]?.seq ?? 0;
    const limit = 1 + this.#random(20);
    const there = await this.#driver.read(this.#log, after, limit);
    const entries = this.#logged.filter(({ seq }) => seq > after).slice(0, limit);
    assert.deepEqual(
      there.map(({ value, seq }) => ({ value, seq })),
      entries,
    );
  }

  async #trim(): Promise<void> {
    const maxEntries = 20 + this.#random(100);
    await this.#driver.trim(this.#log, { maxEntries });
    this.#logged = this.#logged.slice(-maxEntries);
  }
}

/** Numbers from 0 to below a bound, the same for each seed (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}
