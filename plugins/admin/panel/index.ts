import { definePoint } from "propylon/kit";
import { readPanel } from "./check.ts";
import type { CheckedPanel, Panel } from "./panel.ts";

export type {
  CheckedPanel,
  Panel,
  PanelAction,
  PanelChoices,
  PanelColumn,
  PanelNotice,
  PanelText,
  PanelTools,
  PanelView,
  Pointer,
  RouteReference,
  ValueForm,
} from "./panel.ts";

/**
 * Parts of web interfaces. Each is checked, as `propylon check` does, against the routes that it asks: each must be there, take no more
 * than the panel does, and change something only where the panel says so. There are none without the management.
 *
 * @example
 * gateway.add(Panels, {
 *   id: "jobs",
 *   title: "Jobs",
 *   place: "page",
 *   access: "viewer",
 *   view: { table: { from: "GET /_meta/jobs", rows: "/jobs", columns: [{ label: "Id", value: "/id" }] } },
 * });
 */
export const Panels = definePoint<Panel, CheckedPanel>("panels", {
  nameOf: ({ plugin, value }) => `the panel "${plugin}/${value?.id}"`,
  read: readPanel,
});
