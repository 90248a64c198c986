import type { GatewayError } from "../kit/errors.ts";
import type { CreateServer } from "../http/app.ts";
import type { WorkerStatus } from "../plugin/description.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import type { Check } from "../plugin/plugin-checks.ts";
import type { StoreDriver } from "../store/driver.ts";
import type { ProcessMetrics } from "./metrics.ts";

/** What a gateway does in a round of all workers. */
export interface Applier {
  /**
   * Prepares a config and, once `vote` resolves, puts it into force; undoes all of it when that rejects.
   *
   * @param text in place of what the config's file holds
   */
  apply(text: string | undefined, vote: () => Promise<void>): Promise<ReloadReport>;
  /** Tells that a config was refused, here or at another worker. */
  refuse(error: GatewayError): void;
}

/** The place of a gateway among the workers of its machine. */
export interface Seat {
  /** Makes the servers of this worker's listeners; `undefined` where the primary holds no connections. */
  readonly createServer: CreateServer | undefined;
  /** Of this worker, from 1. */
  readonly number: number;
  /** How many configs all of them had applied when this one began, that one included. */
  readonly generation: number;
  /** All workers, this one included. */
  readonly status: readonly WorkerStatus[];
  /** Whether the machine is ready: not before all workers serve; one that is lost later is only missed. */
  readonly check: Check;
  /** The store that all workers share, where it is not that of the config. */
  openStore(): StoreDriver | undefined;
  /** Says how this gateway takes part in rounds. */
  takePart(applier: Applier): void;
  /** Has all workers read the config again and apply it. */
  reload(): Promise<ReloadReport>;
  /** Has all workers apply a text; it is written when all could. */
  change(text: string, write: () => Promise<void>): Promise<ReloadReport>;
  /**
   * Says which replica of the store this worker is.
   * @param onGone hears which one a worker was that has ended
   */
  tellReplica(own: string, onGone: (replica: string) => void): void;
  /** Says how this gateway's own metrics are found. */
  tellMetrics(own: () => Promise<ProcessMetrics>): void;
  /** The metrics of each worker. */
  metrics(): Promise<readonly ProcessMetrics[]>;
}
