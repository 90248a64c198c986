import { definePlugin, optional } from "propylon";
import { Management, Metrics } from "propylon/kit";
import { Store } from "propylon/store";
import { Gating } from "propylon/plugins/gating";
import { Tasks } from "propylon/plugins/tasks";
import {
  exposeCalls,
  exposeConventions,
  exposeGateway,
  exposeTasks,
  type Sources,
} from "./catalogue.ts";
import { CallCounts } from "./counts.ts";
import { Exposition } from "./exposition.ts";
import { SharedHour } from "./hour-figures.ts";
import { LastHour } from "./last-hour.ts";
import { ReplicaFigures } from "./replica-figures.ts";
import { GatewayLife } from "./life.ts";
import { measure } from "./measure.ts";
import { optionsSchema } from "./options.ts";
import { exposeProcess } from "./process.ts";
import { registerHour, registerRoutes } from "./routes.ts";
import { summarise } from "./summary.ts";
import { Switches } from "./switches.ts";

export type { BusyTool, HourView, MinuteView } from "./hour-figures.ts";

/** Figures about every call and the gateway itself, for Prometheus and as JSON. */
export default definePlugin({
  name: "metrics",
  config: optionsSchema,
  inject: {
    management: Management,
    metrics: Metrics,
    store: Store,
    gating: optional(Gating),
    tasks: optional(Tasks),
  },
  setup(gateway) {
    const { config, services } = gateway;
    const { buckets } = config;
    // Figures live through reloads; other buckets need other histograms.
    const counts = gateway.keep(`counts ${buckets.join(" ")}`, () => new CallCounts(buckets));
    const life = gateway.keep(`life ${buckets.join(" ")}`, () => new GatewayLife(buckets));
    const hour = gateway.keep(`hour ${buckets.join(" ")}`, () => new LastHour(counts));
    const switches = new Switches(() => gateway.info.servers, services.gating);
    const sources: Sources = { counts, life, switches, gateway };
    const page = new Exposition(services.metrics, config.prefix);
    exposeCalls(page, sources);
    exposeConventions(page, sources);
    exposeGateway(page, sources);
    if (services.tasks) exposeTasks(page, services.tasks);
    if (config.process) exposeProcess(page);
    measure(gateway, counts);
    const replicas = new ReplicaFigures(services.store, () => summarise(sources));
    const hours = new SharedHour(services.store, () => hour.read());
    registerRoutes(gateway, services.management, sources, replicas);
    registerHour(gateway, hours);
    life.watch(gateway);
    gateway.hook("reload:done", () => {
      for (const each of [counts, life]) each.keep((name) => gateway.info.servers.has(name));
    });
    gateway.onStart(() => life.meet(gateway.info.servers));
    gateway.onStart(() => replicas.serve());
    gateway.onStart(() => hour.watch());
    gateway.onStart(() => hours.serve());
  },
});
