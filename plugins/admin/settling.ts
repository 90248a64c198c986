import { type PluginContext, type ProviderState, setTimer } from "propylon";

const UNSETTLED: ReadonlySet<ProviderState> = new Set(["idle", "connecting"]);

/** Waits until a server's first attempt to connect has an outcome and its tools are known, at most so many milliseconds. */
export async function whenSettled(
  gateway: PluginContext,
  name: string,
  limit: number,
): Promise<void> {
  const provider = gateway.servers.get(name);
  if (!provider || !UNSETTLED.has(provider.status.state)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      gateway.signal.removeEventListener("abort", end);
      unlisten();
      resolve();
    };
    const unlisten = provider.on(() => {
      if (!UNSETTLED.has(provider.status.state)) end();
    });
    const timer = setTimer(end, limit);
    gateway.signal.addEventListener("abort", end, { once: true });
  });
}
