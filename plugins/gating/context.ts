import type { Management, PluginContext } from "propylon";
import type { Files, Store } from "propylon/kit";
import type { GatingOptions } from "./options.ts";

/** What the plugin works with. */
export type GatingContext = PluginContext<
  GatingOptions,
  {
    readonly files: typeof Files;
    readonly management: typeof Management;
    readonly store: typeof Store;
  }
>;
