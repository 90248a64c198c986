import type { Server, ServerState } from "propylon";
import { setTimer } from "propylon/kit";

const UNSETTLED: ReadonlySet<ServerState> = new Set(["idle", "connecting"]);

/**
 * Waits until a server's first attempt to connect has an outcome and its tools are known, at most so many milliseconds.
 *
 * @param signal ends the wait
 */
export async function whenSettled(
  server: Server | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  if (!server || signal.aborted || !UNSETTLED.has(server.status.state)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      unlisten();
      resolve();
    };
    const unlisten = server.on(() => {
      if (!UNSETTLED.has(server.status.state)) end();
    });
    const timer = setTimer(end, limit);
    signal.addEventListener("abort", end, { once: true });
  });
}
