import { definePlugin, type Handle } from "propylon";
import { createGate } from "./gate.ts";
import { isServerOn, isShown, isToolOn } from "./flags.ts";
import { Ledger } from "./ledger.ts";
import { optionsSchema } from "./options.ts";
import { statePath } from "./path.ts";
import { isLeftOut, takeIn } from "./entry.ts";
import { checkFlags } from "./known.ts";
import { Gating, type GatingService } from "./service.ts";
import { createRule } from "./timeouts.ts";
import { reserveTools } from "./reserved.ts";
import { followServers } from "./follow.ts";

export * from "./service.ts";

export default definePlugin({
  name: "gating",
  config: optionsSchema,
  provides: Gating,
  setup(gateway): GatingService {
    const { config } = gateway;
    const shown: Handle = gateway.filter((item) => isShown(ledger.flags, item));
    const ledger = gateway.keep(
      "ledger",
      () =>
        new Ledger({
          log: gateway.log,
          relist: () => shown.changed(),
          changed: (flags, by) => {
            for (const flag of flags) gateway.emit("gating:changed", { ...flag, by });
          },
        }),
      (kept) => kept.close(),
    );
    const deadlineOf = createRule(config, (call) => gateway.control.timeouts(call));
    gateway.use(
      "gate",
      createGate(() => ledger.flags),
    );
    gateway.use("deadline", { limit: deadlineOf });
    gateway.onStart(() =>
      ledger.open(
        statePath(config.state, gateway.files.folder, gateway.control.configFile),
        gateway.control.dryRun,
      ),
    );
    reserveTools(gateway, config.reserved);
    followServers(gateway, ledger);
    return {
      isServerEnabled: (server) => isServerOn(ledger.flags, server) && !isLeftOut(gateway, server),
      isToolEnabled: (server, tool) => isToolOn(ledger.flags, server, tool),
      async set(flags, by) {
        checkFlags(gateway.control, ledger.flags, flags);
        const entries = await takeIn(gateway, flags, by);
        const changed = await ledger.set(flags, by);
        return [...entries.filter((flag) => !changed.includes(flag)), ...changed];
      },
      export: () => ledger.export(),
      deadlineOf,
    };
  },
});
