import type { PluginContext } from "propylon";
import type { Files, Metrics } from "propylon/kit";
import type { Ending } from "./execution/ending.ts";
import { FailedDeliveries } from "./execution/failed-deliveries.ts";
import { JetstreamTransport } from "./jetstream/transport.ts";
import { MemoryTransport } from "./memory.ts";
import { registerMetrics } from "./metrics.ts";
import type { SidecarOptions } from "./options.ts";
import { Queue } from "./queue.ts";
import { RuntimeChild } from "./runtime/child.ts";
import { RuntimeClient } from "./runtime/runtime.ts";
import type { Settings } from "./settings.ts";
import type { Transport } from "./message/transport.ts";
import { Worker } from "./execution/worker.ts";

/** The parts of a sidecar. */
export interface Sidecar {
  readonly settings: Settings;
  readonly transport: Transport;
  readonly queue: Queue;
  readonly runtime: RuntimeClient;
  readonly worker: Worker;
  /** Where the runtime is a child of ours. */
  readonly child: RuntimeChild | undefined;
  readonly failed: FailedDeliveries;
}

/** Makes the parts of a sidecar, none of them started. */
export function assemble(
  gateway: PluginContext<
    SidecarOptions,
    { readonly files: typeof Files; readonly metrics: typeof Metrics }
  >,
  settings: Settings,
): Sidecar {
  const { log, services } = gateway;
  const transport = transportFor(gateway, settings);
  const runtime = new RuntimeClient(settings.runtime, settings.name, (message) =>
    log.warn(message),
  );
  const failed = gateway.keep("failed", () => new FailedDeliveries());
  const worker = new Worker(
    { transport, runtime, settings, claims: new Set() },
    {
      began({ attempt }) {
        const begun = performance.now();
        return (ending) => {
          failed.add(ending, attempt);
          tell(gateway, ending, attempt);
          count(ending, attempt, performance.now() - begun);
        };
      },
      changed() {
        const { state, reason } = worker;
        log.info({ state, reason }, "sidecar");
        gateway.emit("sidecar:state", state, reason, worker.failure);
      },
    },
  );
  const count = registerMetrics(services.metrics, transport, worker);
  const child =
    settings.runtime.command &&
    new RuntimeChild(settings.runtime, services.files.folder, {
      info: (data, message) => log.info(data, message),
      warn: (data, message) => log.warn(data, message),
    });
  const queue = new Queue(transport, settings);
  return { settings, transport, runtime, worker, child, failed, queue };
}

/** Why the sidecar is not ready; `undefined` when it is. Anybody may read it: what exactly is wrong is for viewers of `/sidecar`. */
export function missing({ settings, transport, runtime, worker }: Sidecar): string | undefined {
  const { isConnected, reason } = transport.status;
  if (!isConnected) return "The queue is not attached. GET /sidecar says why.";
  if (!settings.work || worker.state === "ready") return undefined;
  if (reason !== undefined) return "The queue takes no results. GET /sidecar says why.";
  if (!runtime.isHealthy) return "The runtime is not healthy. GET /sidecar says why.";
  return `It is ${worker.state}. GET /sidecar says why.`;
}

/** What is kept in memory outlives a reload; a connection does not. */
function transportFor(gateway: PluginContext<SidecarOptions>, settings: Settings): Transport {
  const { log } = gateway;
  if (settings.nats)
    return new JetstreamTransport(settings, {
      info: (data, message) => log.info(data, message),
      warn: (data, message) => log.warn(data, message),
      error: (data, message) => log.error(data, message),
    });
  const transport = gateway.keep("queue", () => new MemoryTransport(settings));
  transport.configure(settings);
  return transport;
}

function tell(gateway: PluginContext<SidecarOptions>, ending: Ending, attempt: number): void {
  const { log } = gateway;
  const { id, owner, outcome } = ending;
  const failure = "failure" in ending ? ending.failure : undefined;
  const data = {
    task: id,
    owner,
    outcome,
    attempt,
    ...(failure && { reason: failure.reason, why: failure.message }),
  };
  if (failure || outcome === "handed_back") log.warn(data, "task");
  else log.info(data, "task");
  gateway.emit("sidecar:task", id, outcome, owner);
}
