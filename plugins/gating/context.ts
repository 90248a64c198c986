import type { Management, PluginContext, Service } from "propylon";
import type { GatingOptions } from "./options.ts";

/** What the plugin works with. */
export type GatingContext = PluginContext<
  GatingOptions,
  { readonly management: Service<Management> }
>;
