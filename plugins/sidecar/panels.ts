import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";

/** The queue and what failed, in a web interface. */
export function registerPanels(gateway: Pick<PluginContext, "add">): void {
  gateway.add(Panels, {
    id: "queue",
    title: "Task queue",
    place: "overview",
    access: "viewer",
    view: {
      fields: {
        from: "GET /_meta/sidecar",
        fields: [
          { label: "Sidecar", value: "/name" },
          { label: "State", value: "/state", as: "state" },
          { label: "Why", value: "/reason" },
          { label: "Waiting", value: "/tasks/waiting", as: "number" },
          { label: "With a worker", value: "/tasks/running", as: "number" },
          { label: "Running here", value: "/running", as: "list" },
        ],
      },
    },
  });
  gateway.add(Panels, {
    id: "failed",
    title: "Failed tasks",
    place: "page",
    access: "operator",
    description: "The last hundred deliveries that failed here since the start.",
    view: {
      table: {
        from: "GET /_meta/sidecar/failed",
        rows: "/failed",
        columns: [
          { label: "When", value: "/at", as: "time" },
          { label: "Task", value: "/task", as: "code" },
          { label: "Owner", value: "/owner", as: "code" },
          { label: "Outcome", value: "/outcome", as: "state" },
          { label: "Reason", value: "/reason", as: "code" },
          { label: "What went wrong", value: "/message" },
          { label: "Delivery", value: "/attempt", as: "number" },
        ],
        empty: "No delivery has failed.",
      },
    },
  });
}
