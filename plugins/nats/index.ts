import { definePlugin } from "propylon";
import { openNats } from "./open.ts";
import { optionsSchema } from "./options.ts";
import { PACKAGES } from "./link/packages.ts";

export type { Delivery, Line } from "./queue/delivery.ts";
export { factsOf, type DeliveryFacts, readHeaders } from "./link/facts.ts";
export { Link } from "./link/link.ts";
export type {
  Followers,
  Jetstream,
  LinkOptions,
  LinkStatus,
  Opened,
  LinkLog,
} from "./link/linking.ts";
export { natsAccess, type NatsAccess } from "./access.ts";
export { installedPackages, PACKAGES } from "./link/packages.ts";
export {
  checkSettings,
  type Demands,
  findOrAdd,
  nanos,
  provideStream,
  type StreamPlan,
} from "./store/provision.ts";
export { Puller, type PullerOptions } from "./queue/puller.ts";
export { type ApiError, apiErrorOf, forbiddenOf } from "./link/refusal.ts";
export { type Identity, natsOf, type NatsSettings, type TlsFiles } from "./settings.ts";

/** Keeps a gateway's store in NATS JetStream. */
export default definePlugin({
  name: "nats",
  config: optionsSchema,
  stores: { nats: { open: openNats, abilities: ["queue"] } },
  needs: () => ({ packages: PACKAGES }),
  setup() {},
});
