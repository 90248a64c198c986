import {
  keepPreviousData,
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useAbout } from "./about.tsx";
import { POLL_MS } from "./events.ts";
import { useLiveState } from "./live.tsx";
import {
  ask,
  type Params,
  type RequestDetails,
  type RequestFailure,
  type Route,
} from "./request.ts";

/** How an answer is asked for. */
export interface AskOptions {
  /** Kind of events that make it old, for those that {@link useEvents} does not know by path. */
  readonly live?: string | undefined;
  readonly enabled?: boolean;
  /** Also asked for while events come, for what no event tells; milliseconds. */
  readonly every?: number | undefined;
  /** The answer before is shown until there is another one, and an answer is gone when nothing shows it. */
  readonly isKept?: boolean;
  /** Whether a panel shows it: its actions may change what another plugin answers. */
  readonly panel?: boolean;
}

/** The answer of a route, kept in step with the gateway: by events, and every 8 s while there are none. */
export function useAsk<T>(
  route: Route,
  params: Params = {},
  { live, enabled = true, every, isKept = false, panel }: AskOptions = {},
): UseQueryResult<T, RequestFailure> {
  const isLive = useLiveState().kind === "live";
  return useQuery<T, RequestFailure>({
    queryKey: [route, params],
    queryFn: ({ signal }) => ask<T>(route, { params, signal }),
    refetchInterval: isLive ? (every ?? false) : POLL_MS,
    enabled,
    meta: { live, panel },
    ...(isKept && { placeholderData: keepPreviousData, gcTime: 0 }),
  });
}

/** How often to ask for what a kind of events of a plugin tells of: not at all where this visitor gets these events. */
export function useIntervalWithout(kind: string): number | undefined {
  const isTold = useAbout().events.some((each) => each.kind === kind);
  const isLive = useLiveState().kind === "live";
  return isTold && isLive ? undefined : POLL_MS;
}

/** Routes that change the whole config, or who is there, and so every answer. */
const OF_ALL: readonly Route[] = ["POST /_meta/reload", "PUT /_meta/config", "DELETE /ui/session"];

/** A request that changes something. It is over when what it made old has been asked for again. */
export function useChange<T, V = void>(
  route: Route,
  detailsOf: (given: V) => RequestDetails,
  heard: {
    readonly onSuccess?: (answer: T, given: V) => void;
    readonly onError?: (error: RequestFailure) => void;
  },
): UseMutationResult<T, RequestFailure, V> {
  const client = useQueryClient();
  const { routes } = useAbout();
  const pluginOf = (name: unknown): string | undefined =>
    routes.find(({ method, path }) => `${method} ${path}` === name)?.plugin;
  const isOld = (asked: unknown, panel: unknown): boolean =>
    panel === true || areaOf(asked) === areaOf(route) || pluginOf(asked) === pluginOf(route);
  const isReading = route.startsWith("GET ");
  return useMutation({
    // The answer may hold a secret.
    gcTime: 0,
    mutationFn: (given) => ask<T>(route, detailsOf(given)),
    onSettled: () =>
      client.invalidateQueries({
        predicate: ({ queryKey: [asked], meta }) =>
          !isReading && (OF_ALL.includes(route) || isOld(asked, meta?.["panel"])),
      }),
    ...heard,
  });
}

/** What a route is about: `/_meta/servers`. */
function areaOf(route: unknown): string {
  return /\/[^/]+\/[^/]+/.exec(String(route))?.[0] ?? "";
}
