import { Counter } from "prom-client";
import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import type { ConsolePart } from "propylon/plugins/console";
import { z } from "zod";

/** What changed in the console: a tool and a route that tell the last changes, and a metric. They survive a reload. */
export default definePlugin({
  name: "hello",
  config: z.strictObject({
    maxChanges: z
      .int()
      .min(1)
      .default(100)
      .describe("Changes that are kept; the oldest makes way."),
  }),
  inject: { metrics: Metrics },
  setup(gateway) {
    const { maxChanges } = gateway.config;
    const changes = gateway.keep("changes", () => [] as { at: string; part: ConsolePart }[]);
    const total = new Counter({
      name: "hello_changes_total",
      help: "Changes of the console, by what changed.",
      labelNames: ["part"],
      registers: [gateway.services.metrics],
    });

    gateway.tool("recent_changes", {
      description: "Tells what changed in the console last, newest first.",
      input: z.object({ limit: z.int().min(1).max(100).default(10) }),
      run: ({ limit }) => JSON.stringify(changes.slice(0, limit)),
    });

    gateway.route("GET", "/changes", { access: "viewer", mutates: false }, () => ({ changes }));

    gateway.hook("console", ({ part }) => {
      total.inc({ part });
      changes.unshift({ at: new Date().toISOString(), part });
      changes.splice(maxChanges);
    });
  },
});
