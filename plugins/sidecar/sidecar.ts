import type { Queue } from "./queue.ts";
import type { RuntimeChild } from "./runtime/child.ts";
import type { RuntimeClient } from "./runtime/runtime.ts";
import type { Settings } from "./settings.ts";
import type { Transport } from "./transport.ts";
import type { Worker } from "./worker.ts";

/** The parts of a sidecar. */
export interface Sidecar {
  readonly settings: Settings;
  readonly transport: Transport;
  readonly queue: Queue;
  readonly runtime: RuntimeClient;
  readonly worker: Worker;
  /** Where the runtime is a child of ours. */
  readonly child: RuntimeChild | undefined;
}
