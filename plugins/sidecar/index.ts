import { definePlugin, type GatewayError, type PluginContext } from "propylon";
import { commands } from "./commands.ts";
import type { Ending } from "./execution.ts";
import { PACKAGES } from "./jetstream/packages.ts";
import { JetstreamTransport } from "./jetstream/transport.ts";
import { MemoryTransport } from "./memory.ts";
import { registerMetrics } from "./metrics.ts";
import { formerOptions, optionsSchema, type SidecarOptions } from "./options.ts";
import { Queue } from "./queue.ts";
import { registerRoutes } from "./routes.ts";
import { RuntimeChild } from "./runtime/child.ts";
import { Runtime } from "./runtime/runtime.ts";
import { TaskQueue } from "./service.ts";
import { settle, type Settings } from "./settings.ts";
import type { Sidecar } from "./sidecar.ts";
import { registerTools } from "./tools.ts";
import type { Transport } from "./transport.ts";
import { Worker } from "./worker.ts";

export * from "./service.ts";

declare module "propylon" {
  interface GatewayHooks {
    /** The sidecar's worker came to another state; `reason` says why it takes no tasks, `failure` is set when it `failed`. */
    "sidecar:state": (
      state: Worker["state"],
      reason: string | undefined,
      failure: GatewayError | undefined,
    ) => void;
    /** A delivery of a task ended. */
    "sidecar:task": (id: string, outcome: Ending["outcome"]) => void;
  }
}

/** Feeds a runtime from a durable queue, and takes tasks for it. */
export default definePlugin({
  name: "sidecar",
  config: optionsSchema,
  formerOptions,
  commands,
  provides: TaskQueue,
  // $NATS_URL may name servers where it runs.
  packages: ({ nats }) => (nats.url === undefined ? undefined : PACKAGES),
  setup(gateway) {
    const settings = settle(gateway.config, process.env, gateway.files.folder);
    const sidecar = assemble(gateway, settings);
    registerRoutes(gateway, sidecar);
    registerTools(gateway, sidecar);
    if (settings.readiness) gateway.check("sidecar", () => missing(sidecar));
    run(gateway, sidecar);
    return sidecar.queue;
  },
});

function assemble(gateway: PluginContext<SidecarOptions>, settings: Settings): Sidecar {
  const { log } = gateway;
  const transport = transportFor(gateway, settings);
  const runtime = new Runtime(settings.runtime, settings.name, (message) => log.warn(message));
  const worker = new Worker(
    { transport, runtime, settings, claims: new Set() },
    {
      began({ attempt }) {
        const begun = performance.now();
        return (ending) => {
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
  const count = registerMetrics(gateway.metrics, transport, worker);
  const child =
    settings.runtime.command &&
    new RuntimeChild(settings.runtime, gateway.files.folder, {
      info: (data, message) => log.info(data, message),
      warn: (data, message) => log.warn(data, message),
    });
  return { settings, transport, runtime, worker, child, queue: new Queue(transport, settings) };
}

/** Anybody may read it: what exactly is wrong is for viewers of `/sidecar`. */
function missing({ settings, transport, runtime, worker }: Sidecar): string | undefined {
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
  const { id, outcome } = ending;
  const failure = "failure" in ending ? ending.failure : undefined;
  const data = {
    task: id,
    outcome,
    attempt,
    ...(failure && { reason: failure.reason, why: failure.message }),
  };
  if (failure || outcome === "handed_back") log.warn(data, "task");
  else log.info(data, "task");
  gateway.emit("sidecar:task", id, outcome);
}

/** Life and death: what a reload takes out ends its tasks in the background, a shutdown waits for them. */
function run(gateway: PluginContext<SidecarOptions>, sidecar: Sidecar): void {
  const { settings, transport, runtime, worker, child } = sidecar;
  const leaving = gateway.keep(
    "leaving",
    () => new Set<(grace: number) => Promise<void>>(),
    async (ends) => void (await Promise.all([...ends].map((end) => end(settings.grace)))),
  );
  let drainsSince: number | undefined;
  const end = async (grace: number): Promise<void> => {
    await worker.end(grace);
    await child?.end();
    await Promise.all([transport.close(), runtime.close()]);
    leaving.delete(end);
  };
  gateway.hook("gateway:drain", () => {
    drainsSince = performance.now();
    void worker.end(graceOf(gateway, settings));
  });
  gateway.onStart(() => {
    const before = Promise.all([...leaving].map((each) => each(settings.timeout)));
    transport.open();
    // Two runtimes would want the same port.
    void before.then(() => child?.start());
    if (settings.work) worker.start(before);
    return () => {
      leaving.add(end);
      const isShutdown = drainsSince !== undefined;
      const left = isShutdown
        ? Math.max(0, graceOf(gateway, settings) - (performance.now() - drainsSince!))
        : settings.timeout;
      const ended = end(left);
      return isShutdown || worker.tasks.length === 0 ? ended : undefined;
    };
  });
}

/** What is left of the process's own grace once a child had time to end. */
function graceOf({ control }: PluginContext<SidecarOptions>, settings: Settings): number {
  const { timeouts } = control.effectiveConfig() as { timeouts: { grace: number } };
  const stop = settings.runtime.command ? settings.runtime.stopTimeout : 0;
  return Math.max(0, Math.min(settings.grace, timeouts.grace - stop));
}
