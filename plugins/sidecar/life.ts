import type { PluginContext } from "propylon";
import { parseDuration } from "propylon/kit";
import type { SidecarOptions } from "./options.ts";
import type { Settings } from "./settings.ts";
import type { Sidecar } from "./sidecar.ts";

/** Life and death: what a reload takes out ends its tasks in the background, a shutdown waits for them. */
export function run(gateway: PluginContext<SidecarOptions>, sidecar: Sidecar): void {
  const { settings, transport, runtime, worker, child } = sidecar;
  const leaving = gateway.keep(
    "leaving",
    () => new Set<(grace: number) => Promise<void>>(),
    async (ends) => void (await Promise.all([...ends].map((end) => end(settings.grace)))),
  );
  let isShutdown = false;
  const end = async (grace: number): Promise<void> => {
    await worker.end(grace);
    await child?.end();
    await Promise.all([transport.close(), runtime.close()]);
    leaving.delete(end);
  };
  gateway.hook("gateway:drain", () => {
    isShutdown = true;
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
      // Of a shutdown the time runs since its drain.
      const ended = end(isShutdown ? graceOf(gateway, settings) : settings.timeout);
      return isShutdown || worker.tasks.length === 0 ? ended : undefined;
    };
  });
}

/** What is left of the process's own grace once a child had time to end. */
function graceOf({ info }: PluginContext<SidecarOptions>, settings: Settings): number {
  const { timeouts } = info.effectiveConfig() as { timeouts: { grace: string } };
  const stop = settings.runtime.command ? settings.runtime.stopTimeout : 0;
  return Math.max(0, Math.min(settings.grace, parseDuration(timeouts.grace, "ms")! - stop));
}
