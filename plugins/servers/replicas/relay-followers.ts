import { type Catalogue, GatewayError, type Server, type ServerStatus } from "propylon";
import type { ServerEvent } from "propylon/kit";
import { CoalescingQueue } from "./coalescing-queue.ts";
import type { RelayQuestion } from "./relay.ts";

/** Resources that clients of one replica may watch at a server. */
const MAX_WATCHED = 10_000;

/** What a replica that follows a server is told. */
export type FollowMessage =
  | { readonly status: ServerStatus }
  | { readonly catalogue: Catalogue }
  | { readonly event: Exclude<ServerEvent, { type: "state" | "changed" }> };

/** A replica whose clients are served by a server that runs here. */
interface Follower {
  readonly server: Server;
  readonly watched: Set<string>;
}

/** The replicas that follow servers of this one: they show what these are, and hear what these say. */
export class RelayFollowers {
  readonly #all = new Map<string, Follower>();

  /** How a server is, its lists, and what it says on its own, until it is closed. */
  async *follow(
    { id }: Extract<RelayQuestion, { verb: "follow" }>,
    server: Server,
    signal: AbortSignal,
  ): AsyncIterable<FollowMessage> {
    const follower: Follower = { server, watched: new Set() };
    this.#all.set(id, follower);
    const queue = new CoalescingQueue<FollowMessage>();
    const stop = server.on((event) => tell(queue, server, event));
    const end = (): void => queue.end();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    queue.push({ catalogue: server.catalogue }, "catalogue");
    queue.push({ status: server.status }, "status");
    try {
      yield* queue.read();
    } finally {
      signal.removeEventListener("abort", end);
      stop();
      this.#all.delete(id);
      await leave(follower);
    }
  }

  /**
   * Clients of a replica that follows want to hear of something, or no more.
   * @throws {GatewayError} what the server says; `not_found` when that replica does not follow; `rate_limited`
   */
  async want(question: Extract<RelayQuestion, { verb: "want" }>): Promise<void> {
    const { id, subscribe, unsubscribe, level, roots } = question;
    const follower = this.#all.get(id);
    if (!follower) throw new GatewayError("not_found", "This replica is not followed.");
    const { server, watched } = follower;
    if (subscribe !== undefined) await watch(follower, subscribe);
    if (unsubscribe !== undefined && watched.delete(unsubscribe))
      await server.unsubscribe?.(unsubscribe);
    if (level !== undefined) server.setLogLevel?.(level ?? undefined, follower);
    if (roots) server.rootsChanged?.();
  }
}

function tell(queue: CoalescingQueue<FollowMessage>, server: Server, event: ServerEvent): void {
  if (event.type === "changed") queue.push({ catalogue: server.catalogue }, "catalogue");
  else if (event.type === "updated")
    queue.push({ event }, `updated ${String(event.params["uri"])} ${event.principal ?? ""}`);
  else if (event.type !== "state") queue.push({ event });
  else if (event.status.state === "closed") queue.end();
  else queue.push({ status: event.status }, "status");
}

async function watch({ server, watched }: Follower, uri: string): Promise<void> {
  if (watched.has(uri)) return;
  if (watched.size >= MAX_WATCHED)
    throw new GatewayError("rate_limited", "Clients of one replica watch too many resources.");
  watched.add(uri);
  try {
    await server.subscribe?.(uri);
  } catch (error) {
    watched.delete(uri);
    throw error;
  }
}

async function leave(follower: Follower): Promise<void> {
  const { server, watched } = follower;
  server.setLogLevel?.(undefined, follower);
  const ended = [...watched].map(async (uri) => server.unsubscribe?.(uri));
  await Promise.allSettled(ended);
}
