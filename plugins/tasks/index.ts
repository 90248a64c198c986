import { definePlugin } from "propylon";
import { Store } from "propylon/store";
import { optionsSchema } from "./options.ts";
import { Tasks } from "./service.ts";
import { callLimits, TaskRegistry } from "./tasks.ts";

export { answerOfEnd, toEnd, type TaskEnd } from "./end.ts";
export * from "./jobs/index.ts";
export * from "./service.ts";

/** Keeps what runs beyond its connection: jobs of HTTP tools, tasks of MCP clients. On by default. */
export default definePlugin({
  name: "tasks",
  config: optionsSchema,
  inject: { store: Store },
  provides: Tasks,
  setup(gateway) {
    const registry = gateway.keep(
      "registry",
      () => new TaskRegistry(gateway.services.store),
      (kept) => kept.close(),
    );
    const service = registry.serve(gateway.config);
    gateway.hook("gateway:ready", () => registry.resume(gateway.info));
    gateway.hook("gateway:drain", () => registry.rest());
    gateway.onStart(async () => {
      service.calls.limits = callLimits(gateway.config);
      await service.calls.load();
      return registry.serveOthers();
    });
    return service;
  },
});
