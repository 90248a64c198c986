import { expect, it, onTestFinished } from "vitest";
import type { Clock } from "../../plugins/servers/wire/clock.ts";
import { freePort } from "../../core/testing/index.ts";
import { makeUpstream } from "../plugins/servers/support/calls.ts";
import { whenState } from "./kit.ts";

/** A clock that stands still: it collects what is due, and runs it when told. */
class StillClock implements Clock {
  readonly waits: number[] = [];
  #due: (() => void) | undefined;
  readonly #chance: number;

  constructor(chance: number) {
    this.#chance = chance;
  }

  now(): number {
    return 1_000_000;
  }

  random(): number {
    return this.#chance;
  }

  after(ms: number, callback: () => void): () => void {
    this.waits.push(ms);
    this.#due = callback;
    return () => void (this.#due = undefined);
  }

  tick(): void {
    const due = this.#due;
    this.#due = undefined;
    due?.();
  }
}

it.each([
  { chance: 0.5, factor: 0.75 },
  { chance: 0, factor: 0.5 },
  { chance: 1, factor: 1 },
])(
  "M105: waits 2, 4, 8 ... seconds up to 60 after failed connects, less up to half ($factor)",
  async ({ chance, factor }) => {
    const clock = new StillClock(chance);
    const upstream = makeUpstream({ url: `http://127.0.0.1:${await freePort()}/mcp` }, { clock });
    onTestFinished(() => upstream.close(0));
    upstream.start();
    await whenState(upstream, "backoff");
    for (let attempt = 1; attempt < 7; attempt++) {
      expect(upstream.status).toMatchObject({
        attempts: attempt,
        reason: expect.stringContaining("refused"),
      });
      clock.tick();
      await whenState(upstream, "connecting");
      await whenState(upstream, "backoff");
    }
    const seconds = clock.waits.map((ms) => Math.round(ms / 100) / 10 / factor);
    for (const [index, expected] of [2, 4, 8, 16, 32, 60, 60].entries())
      expect(seconds[index]).toBeCloseTo(expected, 0);
  },
);
