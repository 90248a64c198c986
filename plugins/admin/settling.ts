import type { PluginContext, ServerState } from "propylon";
import { setTimer } from "propylon/kit";

const UNSETTLED: ReadonlySet<ServerState> = new Set(["idle", "connecting"]);

/** Waits until a server's first attempt to connect has an outcome and its tools are known, at most so many milliseconds. */
export async function whenSettled(
  gateway: PluginContext,
  name: string,
  limit: number,
): Promise<void> {
  const server = gateway.servers.get(name);
  if (!server || !UNSETTLED.has(server.status.state)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      gateway.signal.removeEventListener("abort", end);
      unlisten();
      resolve();
    };
    const unlisten = server.on(() => {
      if (!UNSETTLED.has(server.status.state)) end();
    });
    const timer = setTimer(end, limit);
    gateway.signal.addEventListener("abort", end, { once: true });
  });
}
