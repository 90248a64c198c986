import { Counter, type Registry } from "prom-client";
import type { PushNotificationSender } from "./push/sender.ts";

/** Puts the push notifications on the page of metrics. */
export function registerPushMetrics(
  registry: Registry,
  sender: Pick<PushNotificationSender, "ends">,
): void {
  registry.registerMetric(
    new Counter({
      name: "a2a_push_notifications_total",
      help: "Push notifications by how they ended: delivered, failed, or dropped because too many waited.",
      labelNames: ["outcome"],
      registers: [],
      collect() {
        this.reset();
        for (const [outcome, count] of Object.entries(sender.ends)) this.inc({ outcome }, count);
      },
    }),
  );
}
