import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { splitRoute, type Context } from "./view.ts";

/** What a panel reads, again after events of its kind. */
export function useFrom(
  from: Route,
  live: string | undefined,
  context: Context,
): ReturnType<typeof useAsk<unknown>> {
  const { route, query } = splitRoute(from);
  return useAsk<unknown>(route, { ...context, ...query }, { live });
}
