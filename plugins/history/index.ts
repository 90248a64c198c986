import { definePlugin } from "propylon";
import { optionsSchema } from "./options.ts";
import { Recorder } from "./recorder.ts";
import { Ring } from "./ring.ts";
import { historyRoutes } from "./routes.ts";
import { Secrets } from "./secrets.ts";

/** The last tool calls with what was asked, what came back and who asked (M131). */
export default definePlugin({
  name: "history",
  config: optionsSchema,
  setup(gateway) {
    const ring = gateway.keep("ring", () => new Ring());
    const secrets = new Secrets(gateway.config.redact);
    const recorder = new Recorder(ring, gateway.config, secrets);
    gateway.use("observe", recorder.watch);
    gateway.use("progress", recorder.note);
    gateway.onDispose(() => recorder.flush());
    historyRoutes(gateway, { ring, secrets, recorder });
  },
});
