import { definePlugin } from "propylon";
import { openRedis } from "./driver.ts";
import { optionsSchema } from "./options.ts";

/** Keeps the state of gateways in Redis or Valkey: `store: redis://...`. */
export default definePlugin({
  name: "redis",
  config: optionsSchema,
  stores: { redis: { open: openRedis }, rediss: { open: openRedis } },
  needs: () => ({ packages: ["ioredis"] }),
  setup() {},
});
