import { POLL_MS } from "../events.ts";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { splitRoute, type Context } from "./view.ts";

/** What a panel reads, again after events of its kind; without a kind, every 8 s. */
export function useFrom(
  from: Route,
  live: string | undefined,
  context: Context,
): ReturnType<typeof useAsk<unknown>> {
  const { route, query } = splitRoute(from);
  const again = live === undefined ? { every: POLL_MS } : { live };
  return useAsk<unknown>(route, { ...context, ...query }, { ...again, panel: true });
}
