import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import {
  createContext,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { OWN_SCRIPT, PAGES } from "./kit/address.ts";
import { LiveStream, type EventListener, type LiveState, type EventSelection } from "./events.ts";

const Live = createContext<LiveStream | undefined>(undefined);

/** Paths whose answers an event makes old, besides those of panels that name its kind. */
const TOUCHED: Readonly<Record<string, readonly string[]>> = {
  server_added: ["/_meta/servers", "/_meta/health", "/_meta/breakers"],
  server_removed: ["/_meta/servers", "/_meta/health", "/_meta/breakers"],
  server_changed: ["/_meta/servers"],
  state_changed: ["/_meta/servers"],
  tool_list_changed: ["/_meta/servers"],
  upstream_state: ["/_meta/servers", "/_meta/health"],
  breaker: ["/_meta/servers", "/_meta/breakers"],
  health: ["/_meta/servers", "/_meta/health"],
  agent_state: ["/_meta/agents", "/api/agents", "/_meta/health"],
  call_end: ["/_meta/history", "/_meta/calls"],
  progress: ["/_meta/calls"],
  reload_failed: ["/_meta/config", "/_meta/ui"],
  reload_done: ["/"],
  gap: ["/"],
  returned: ["/"],
};

/** Answers of a storm of events are asked for this often. */
const PAUSE_MS = 250;
/** Events of one change follow each other within this. */
const TOGETHER_MS = 20;

/** Asks again for what events made old, and never more often than one can see. */
class Refresher {
  readonly #client: QueryClient;
  readonly #waiting = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient) {
    this.#client = client;
  }

  take: EventListener = (kind) => {
    for (const path of [`live:${kind}`, ...(TOUCHED[kind] ?? [])]) this.#waiting.add(path);
    // What comes together is asked for together.
    if (this.#timer === undefined) this.#wait(TOGETHER_MS);
  };

  #wait(ms: typeof PAUSE_MS | typeof TOGETHER_MS): void {
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#waiting.size > 0) this.#refresh();
      },
      Math.min(ms, PAUSE_MS),
    );
  }

  #refresh(): void {
    const paths = [...this.#waiting];
    this.#waiting.clear();
    void this.#client.invalidateQueries({
      predicate: ({ queryKey: [route], meta }) =>
        paths.some(
          (path) =>
            `live:${String(meta?.["live"])}` === path ||
            (typeof route === "string" && route.startsWith(`GET ${path}`)),
        ),
    });
    this.#wait(PAUSE_MS);
  }
}

/** Keeps everything below it in step with the gateway. */
export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const client = useQueryClient();
  const stream = useMemo(() => new LiveStream(), []);
  useEffect(() => {
    const refresher = new Refresher(client);
    return stream.listen(refresher.take);
  }, [client, stream]);
  return <Live value={stream}>{children}</Live>;
}

function useStream(): LiveStream {
  return useContext(Live)!;
}

/** How the page learns of changes now. */
export function useLiveState(): LiveState {
  const stream = useStream();
  return useSyncExternalStore(stream.watch, () => stream.state);
}

/** Has the stream for as long as somebody is signed in; somebody else gets one with their own rights. */
export function useStreamFor(visitor: string | undefined): void {
  const stream = useStream();
  useEffect(() => {
    if (visitor === undefined) return undefined;
    stream.start();
    return () => stream.stop();
  }, [visitor, stream]);
}

/** Tries to connect at once. */
export function useReconnect(): () => void {
  const stream = useStream();
  return () => stream.retry();
}

/** Hears events while a part is on the screen. */
export function useEvents(listener: EventListener, selection?: EventSelection): void {
  const stream = useStream();
  const latest = useRef(listener);
  useSelection(selection);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => stream.listen((kind, data) => latest.current(kind, data)), [stream]);
}

/** Has events that a stream shows only to who asks, while a part is on the screen. */
export function useSelection(selection: EventSelection | undefined): void {
  const stream = useStream();
  const kinds = selection?.kinds;
  const level = selection?.level;
  useEffect(() => {
    if (kinds === undefined) return undefined;
    return stream.want({ kinds, ...(level !== undefined && { level }) });
  }, [stream, kinds, level]);
}

/** Whether the gateway has other pages by now than these. */
export function useNewVersion(): boolean {
  const [isNew, setNew] = useState(false);
  useEvents((kind) => {
    if (kind !== "returned" && kind !== "reload_done") return;
    void fetch(PAGES, { cache: "no-cache" })
      .then((answer) => (answer.ok ? answer.text() : OWN_SCRIPT))
      .then((text) => setNew(!import.meta.env.DEV && !text.includes(OWN_SCRIPT)))
      .catch(() => {});
  });
  return isNew;
}
