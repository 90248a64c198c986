import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";

/** The circuits in a web interface. */
export function registerPanels(gateway: PluginContext): void {
  gateway.add(Panels, {
    id: "circuits",
    title: "Circuits",
    place: "overview",
    access: "viewer",
    view: {
      table: {
        from: "GET /_meta/breakers",
        rows: "/breakers",
        live: "breaker",
        columns: [
          { label: "Server", value: "/_key" },
          { label: "State", value: "/state", as: "state" },
          { label: "Failures in a row", value: "/failures", as: "number" },
          { label: "Reason", value: "/reason" },
          { label: "Next try", value: "/retryAt", as: "time" },
        ],
        actions: [
          {
            label: "Close",
            route: "POST /_meta/servers/:server/breaker/reset",
            params: { server: "/_key" },
            when: { "/state": ["open", "half-open"] },
            access: "operator",
            confirm: "Calls of this server go through again at once.",
          },
        ],
        empty: "No server has a circuit.",
      },
    },
  });
}
