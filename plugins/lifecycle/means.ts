import type { LifecycleOptions } from "./options.ts";
import type { Logger } from "pino";
import type { AgentsService } from "propylon/plugins/agents";
import type { PayloadStore } from "propylon/plugins/payloads";

/** What agents are run with: of the config in force, so it changes while agents live. */
export interface Means {
  readonly options: LifecycleOptions;
  readonly agents: AgentsService;
  /** Agents of the config that take contracts, the default one first. */
  readonly takers: readonly string[];
  readonly payloads: PayloadStore | undefined;
  readonly log: Logger;
}
