import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";

/** What is stored, in a web interface: one's own, or everybody's for operators. */
export function registerPanels(gateway: Pick<PluginContext, "add">): void {
  gateway.add(Panels, {
    id: "usage",
    title: "Payloads",
    place: "overview",
    access: "caller",
    view: {
      fields: {
        from: "GET /_meta/payloads",
        fields: [
          { label: "Payloads", value: "/count", as: "number" },
          { label: "Stored, compressed", value: "/bytes", as: "bytes" },
        ],
      },
    },
  });
  gateway.add(Panels, {
    id: "newest",
    title: "Payloads",
    place: "page",
    access: "caller",
    description: "The newest hundred that you may read.",
    view: {
      table: {
        from: "GET /_meta/payloads",
        rows: "/payloads",
        columns: [
          { label: "Payload", value: "/id", as: "code" },
          { label: "Owner", value: "/owner", as: "code" },
          { label: "Type", value: "/mimeType" },
          { label: "Size", value: "/size", as: "bytes" },
          { label: "Stored", value: "/stored", as: "bytes" },
          { label: "Made", value: "/createdAt", as: "time" },
          { label: "Ends", value: "/expiresAt", as: "time" },
        ],
        empty: "Nothing is stored that you may read.",
      },
    },
  });
}
