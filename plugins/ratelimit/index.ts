import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { Store } from "propylon/store";
import { SharedLimits, chooseTokens } from "./shared-limits.ts";
import { hasOwnBuckets, Levels } from "./levels.ts";
import { Limits } from "./limits.ts";
import { registerMetrics, rejectedCounter } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { selectorsOf } from "./selectors.ts";
import { RateLimits } from "./service.ts";

export * from "./service.ts";

/** Bounds how many calls run per time and at the same time. */
export default definePlugin({
  name: "ratelimit",
  config: optionsSchema,
  needs: (options) => ({ selectors: selectorsOf(options) }),
  inject: { metrics: Metrics, store: Store },
  provides: RateLimits,
  setup(gateway) {
    const { services, log } = gateway;
    const { metrics, store } = services;
    const shared = store.shared ? new SharedLimits(store) : undefined;
    const limits = new Limits(
      gateway.config,
      rejectedCounter(metrics),
      chooseTokens(shared),
      shared?.createSlots,
    );
    const levels =
      store.durable && !store.shared
        ? gateway.keep(
            "levels",
            () => new Levels(store, log),
            (kept) => kept.close(),
          )
        : undefined;
    gateway.use("limit", limits.middleware);
    registerMetrics(metrics, limits.caps);
    // Who waits has not started, and must not when everything else ends.
    gateway.hook("gateway:drain", () => limits.close());
    if (levels) gateway.onStart(() => levels.follow(limits.rates.filter(hasOwnBuckets)));
    if (shared) gateway.onStart(() => shared.begin());
    gateway.onDispose(() => {
      limits.close();
      return shared?.close();
    });
    return limits;
  },
});
