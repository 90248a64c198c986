import { definePlugin } from "propylon";
import { Levels } from "./levels.ts";
import { Limits } from "./limits.ts";
import { registerMetrics, rejectedCounter } from "./metrics.ts";
import { formerOptions, optionsSchema } from "./options.ts";
import { RateLimits } from "./service.ts";

export * from "./service.ts";

/** Bounds how many calls run per time and at the same time. */
export default definePlugin({
  name: "ratelimit",
  config: optionsSchema,
  formerOptions,
  provides: RateLimits,
  setup(gateway) {
    const limits = new Limits(gateway.config, rejectedCounter(gateway.metrics));
    const { store, log } = gateway;
    const levels = store.durable
      ? gateway.keep(
          "levels",
          () => new Levels(store, log),
          (kept) => kept.close(),
        )
      : undefined;
    gateway.use("limit", limits.middleware);
    registerMetrics(gateway.metrics, limits.caps);
    // Who waits has not started, and shall not when everything else ends.
    gateway.hook("gateway:drain", () => limits.close());
    if (levels) gateway.onStart(() => levels.follow(limits.rates));
    gateway.onDispose(() => limits.close());
    return limits;
  },
});
