import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useAbout } from "./about.tsx";
import { POLL_MS } from "./events.ts";
import { useLiveState } from "./live.tsx";
import { ask, type Params, type RequestFailure, type Route } from "./request.ts";

/** How an answer is asked for. */
export interface AskOptions {
  /** Kind of events that make it old, for those that {@link useEvents} does not know by path. */
  readonly live?: string | undefined;
  readonly enabled?: boolean;
  /** Also asked for while events come, for what no event tells; milliseconds. */
  readonly every?: number;
  /** The answer before is shown until there is another one. */
  readonly isKept?: boolean;
}

/** The answer of a route, kept in step with the gateway: by events, and every 8 s while there are none. */
export function useAsk<T>(
  route: Route,
  params: Params = {},
  { live, enabled = true, every, isKept = false }: AskOptions = {},
): UseQueryResult<T, RequestFailure> {
  const isLive = useLiveState().kind === "live";
  return useQuery<T, RequestFailure>({
    queryKey: [route, params],
    queryFn: ({ signal }) => ask<T>(route, { params, signal }),
    refetchInterval: isLive ? (every ?? false) : POLL_MS,
    enabled,
    ...(isKept && { placeholderData: keepPreviousData }),
    ...(live !== undefined && { meta: { live } }),
  });
}

/** How often to ask for what a kind of events of a plugin tells of: not at all where this visitor gets these events. */
export function useIntervalWithout(kind: string): number | undefined {
  const isTold = useAbout().events.some((each) => each.kind === kind);
  const isLive = useLiveState().kind === "live";
  return isTold && isLive ? undefined : POLL_MS;
}
