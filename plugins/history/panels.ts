import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";

/** The last calls in a web interface. */
export function registerPanels(gateway: Pick<PluginContext, "add">): void {
  gateway.add(Panels, {
    id: "calls",
    title: "Last calls",
    place: "overview",
    access: "viewer",
    view: {
      table: {
        from: "GET /_meta/history?limit=20&brief=1",
        rows: "/entries",
        columns: [
          { label: "When", value: "/at", as: "time" },
          { label: "Server", value: "/server" },
          { label: "Tool", value: "/tool", as: "code" },
          { label: "Outcome", value: "/outcome", as: "state" },
          { label: "Code", value: "/code", as: "code" },
          { label: "Took", value: "/durationMs", as: "duration" },
          { label: "Who", value: "/principal", as: "code" },
        ],
        actions: [
          {
            label: "Replay",
            route: "POST /_meta/history/:id/replay",
            params: { id: "/id" },
            access: "admin",
            confirm: "The tool is called once more with the same arguments, in your name.",
          },
        ],
        empty: "No tool has been called yet.",
      },
    },
  });
}
