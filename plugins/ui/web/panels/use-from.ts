import { useAsk, useIntervalWithout } from "../query.ts";
import type { Route } from "../request.ts";
import { splitRoute, type Context } from "./view.ts";

/** What a panel reads, again after events of its kind; without a kind, or for who does not get its events, every 8 s. */
export function useFrom(
  from: Route,
  live: string | undefined,
  context: Context,
): ReturnType<typeof useAsk<unknown>> {
  const { route, query } = splitRoute(from);
  const every = useIntervalWithout(live ?? "");
  return useAsk<unknown>(route, { ...context, ...query }, { live, every, panel: true });
}
