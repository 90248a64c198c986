import type { PluginContext } from "propylon";
import type { Management, Files } from "propylon/kit";
import type { Store } from "propylon/store";
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
