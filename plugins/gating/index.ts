import { definePlugin } from "propylon";
import { Management, Files, Filters, Lists } from "propylon/kit";
import { Store } from "propylon/store";
import { FlagStore } from "./flags/flag-store.ts";
import { createKeeper } from "./flags/create-keeper.ts";
import { isShown } from "./flags/flags.ts";
import { followServers } from "./follow.ts";
import { createGate } from "./gate.ts";
import { optionsSchema } from "./options.ts";
import { reserveTools } from "./reserved.ts";
import { selectorsOf } from "./selectors.ts";
import { Gating } from "./service.ts";
import { createService } from "./switches.ts";
import { createRule } from "./timeouts.ts";

export * from "./service.ts";

/** Switches servers and tools on and off, for good, and bounds how long calls may run. */
export default definePlugin({
  name: "gating",
  config: optionsSchema,
  needs: (options) => ({ selectors: selectorsOf(options) }),
  inject: { files: Files, lists: Lists, management: Management, store: Store },
  provides: Gating,
  setup(gateway) {
    const { config } = gateway;
    const { lists } = gateway.services;
    gateway.add(Filters, { shows: (item) => isShown(store.flags, item) });
    const store = gateway.keep(
      "store",
      () =>
        new FlagStore({
          log: gateway.log,
          relist: () => lists.changed(),
          changed: (flags, by, remote) => {
            const about = { by, ...(remote && { remote }) };
            for (const flag of flags) gateway.emit("gating:changed", { ...flag, ...about });
          },
        }),
      (kept) => kept.close(),
    );
    const deadlineOf = createRule(config, (call) => gateway.info.timeouts(call));
    gateway.use(
      "gate",
      createGate(() => store.flags),
    );
    gateway.use("deadline", { limit: deadlineOf });
    reserveTools(gateway, config.reserved);
    followServers(gateway, store);
    gateway.onStart(() => store.open(createKeeper(gateway, (changes) => store.adopt(changes))));
    return createService(gateway, store, deadlineOf);
  },
});
