import { definePlugin } from "propylon";
import { formerOptions, optionsSchema } from "./options.ts";
import { Recorder } from "./recorder.ts";
import { Ring } from "./ring.ts";
import { registerRoutes } from "./routes.ts";
import { Secrets } from "./secrets.ts";

/** The last tool calls with what was asked, what came back and who asked. */
export default definePlugin({
  name: "history",
  config: optionsSchema,
  formerOptions,
  setup(gateway) {
    const { maxEntries, maxMemory } = gateway.config;
    const limits = { entries: maxEntries, memory: maxMemory };
    const ring = gateway.keep("ring", () => new Ring(limits));
    const secrets = new Secrets(gateway.config.redact);
    const { config: options, log } = gateway;
    const recorder = new Recorder({ ring, options, secrets, log });
    gateway.use("observe", recorder.watch);
    gateway.use("dispatch", recorder.note);
    registerRoutes(gateway, { ring, secrets, recorder });
    gateway.onStart(() => {
      const before = ring.limits;
      ring.limits = limits;
      return () => {
        if (ring.limits === limits) ring.limits = before;
      };
    });
    gateway.onDispose(() => recorder.flush());
  },
});
