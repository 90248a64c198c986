import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { Store } from "propylon/store";
import { CallJournal } from "./journal.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { Recorder } from "./recorder.ts";
import { Ring } from "./ring.ts";
import { registerRoutes } from "./routes.ts";
import { Secrets } from "./secrets.ts";

export type { ShownEntry } from "./entry.ts";

/** The last tool calls with what was asked, what came back and who asked. */
export default definePlugin({
  name: "history",
  config: optionsSchema,
  inject: { metrics: Metrics, store: Store },
  setup(gateway) {
    const { maxEntries, maxMemory } = gateway.config;
    const limits = { entries: maxEntries, memory: maxMemory };
    const ring = gateway.keep("ring", () => new Ring(limits));
    const secrets = new Secrets(gateway.config.redact);
    const { config: options, log } = gateway;
    const { metrics, store } = gateway.services;
    const journal = store.durable
      ? gateway.keep(
          "journal",
          () => new CallJournal({ ring, store, log }),
          (kept) => kept.close(),
        )
      : undefined;
    const recorder = new Recorder({
      ring: journal ?? ring,
      options,
      secrets,
      log,
      replica: store.shared ? store.replica : undefined,
    });
    gateway.use("observe", recorder.watch);
    gateway.use("dispatch", recorder.note);
    registerRoutes(gateway, { ring, secrets, recorder, journal });
    registerMetrics(metrics, () => journal?.dropped ?? 0);
    // Not before: a caller that waits for the start does not wait for old calls.
    gateway.hook("gateway:ready", () => void journal?.fill());
    gateway.hook("reload:done", () => void journal?.fill());
    gateway.onStart(() => ring.bound(limits));
    gateway.onDispose(() => recorder.flush());
  },
});
