import { expect, it } from "vitest";
import type { Meter } from "propylon/store";
import { createPrincipal } from "../../../core/kit.ts";
import { Rate } from "../../../plugins/ratelimit/rate.ts";
import { SharedTokens } from "../../../plugins/ratelimit/shared-tokens.ts";

const ANNA = createPrincipal({ id: "anna", kind: "key", roles: new Set(["caller"] as const) });
const CALL = { server: "shop", name: "buy", principal: ANNA };

/** A rule whose buckets are in a store that answers, or not. */
function rateOf(hold: Meter["hold"]): Rate {
  const options = { per: "principal", rate: 2, interval: 60_000, burst: 2 } as never;
  const meterOf = (): Meter => ({ hold }) as Meter;
  return new Rate("shared", options, (_name, burst, interval) => {
    return new SharedTokens({ burst, interval, meterOf, countReplicas: () => 1 });
  });
}

it("bugs-rest 19: a shared limit whose store does not answer does not say that it is used up", async () => {
  const rate = rateOf(() => Promise.reject(new Error("The store is away.")));
  const wait = await rate.take("anna", performance.now());
  expect(wait).toBeGreaterThan(0);
  const { message, hint, headers } = rate.refusal(CALL as never, wait, performance.now());
  expect(message).toBe(
    'Too many calls: the store of the limit "shared" does not answer, and this gateway\'s share of it begins empty.',
  );
  const seconds = Math.ceil(wait / 1_000);
  expect(hint).toBe(`Try again in ${seconds} s.`);
  expect(headers).toMatchObject({ "retry-after": String(seconds) });
});

it("one that is used up says so", async () => {
  const rate = rateOf(() => Promise.resolve({ held: 0, tokens: 0, retryAfter: 5_000 }));
  const wait = await rate.take("anna", performance.now());
  const { message } = rate.refusal(CALL as never, wait, performance.now());
  expect(message).toBe('Too many calls: the limit "shared" is used up.');
});
