import type { GatingContext } from "./context.ts";
import { isLeftOut, takeIn } from "./entry.ts";
import type { FlagStore } from "./flags/flag-store.ts";
import { isServerOn, isToolOn } from "./flags/flags.ts";
import { checkFlags } from "./known.ts";
import type { GatingService } from "./service.ts";

/** The switches as other plugins have them. */
export function createService(
  gateway: GatingContext,
  store: FlagStore,
  deadlineOf: GatingService["deadlineOf"],
): GatingService {
  return {
    isServerEnabled: (server) => isServerOn(store.flags, server) && !isLeftOut(gateway, server),
    isToolEnabled: (server, tool) => isToolOn(store.flags, server, tool),
    async set(flags, by) {
      checkFlags(gateway, store.flags, flags);
      const entries = await takeIn(gateway, flags, by);
      const changed = await store.set(flags, by);
      return [...entries.filter((flag) => !changed.includes(flag)), ...changed];
    },
    export: () => store.export(),
    deadlineOf,
  };
}
