import { type Json, type Server, toGatewayError } from "propylon";
import { invalid } from "./forward.ts";
import { type Fault, RPC } from "../message/protocol.ts";
import type { Route } from "./view-draft.ts";

/** One resource that is watched. */
interface Entry<S> {
  /** Who watches it, and whose it is for them and what it is called there; `undefined` while no server has it. */
  readonly subscribers: Map<S, Route | undefined>;
  /** A server's own answer to the first subscription, and what the resource is called there. */
  readonly ready: Map<Server, { readonly done: Promise<void>; readonly name: string }>;
}

/** One subscriber may watch so many resources. */
export const MAX_PER_SUBSCRIBER = 1_000;

/** Who watches which resource. The servers see one subscription per resource, however many clients watch it. */
export class ResourceWatchers<S extends { subscriptions?: Set<string> | undefined }> {
  readonly #entries = new Map<string, Entry<S>>();
  readonly #routeOf: (subscriber: S, uri: string) => Route | undefined;

  /** @param routeOf whose a resource is, for a subscriber and at the moment; `undefined` for one that it does not see */
  constructor(routeOf: (subscriber: S, uri: string) => Route | undefined) {
    this.#routeOf = routeOf;
  }

  /** Adds a subscriber; resolves with a fault if the server refuses. */
  async add(subscriber: S, uri: string): Promise<Fault | undefined> {
    if ((subscriber.subscriptions?.size ?? 0) >= MAX_PER_SUBSCRIBER)
      return invalid(`Only ${MAX_PER_SUBSCRIBER} subscriptions are allowed.`);
    const route = this.#routeOf(subscriber, uri);
    if (route === undefined)
      return {
        status: 200,
        code: RPC.resourceNotFound,
        message: "Resource not found",
        data: { uri },
      };
    const entry = this.#entry(uri);
    entry.subscribers.set(subscriber, route);
    (subscriber.subscriptions ??= new Set()).add(uri);
    try {
      await watch(entry, route);
      return undefined;
    } catch (thrown) {
      this.remove(subscriber, uri);
      return {
        status: 200,
        code: RPC.server,
        message: toGatewayError(thrown).message,
        data: { uri },
      };
    }
  }

  /** Adds a subscriber as it was in another process, with what no server has at the moment. */
  restore(subscriber: S, uris: readonly string[]): void {
    for (const uri of uris) {
      (subscriber.subscriptions ??= new Set()).add(uri);
      this.#bind(this.#entry(uri), subscriber, uri);
    }
  }

  #bind(entry: Entry<S>, subscriber: S, uri: string): void {
    const route = this.#routeOf(subscriber, uri);
    entry.subscribers.set(subscriber, route);
    if (route) watch(entry, route).catch(ignore);
  }

  #entry(uri: string): Entry<S> {
    let entry = this.#entries.get(uri);
    if (entry === undefined) {
      entry = { subscribers: new Map(), ready: new Map() };
      this.#entries.set(uri, entry);
    }
    return entry;
  }

  /** Removes one subscription. */
  remove(subscriber: S, uri: string): void {
    subscriber.subscriptions?.delete(uri);
    if (subscriber.subscriptions?.size === 0) subscriber.subscriptions = undefined;
    this.#leave(subscriber, uri);
  }

  #leave(subscriber: S, uri: string): void {
    const entry = this.#entries.get(uri);
    if (!entry?.subscribers.delete(subscriber)) return;
    release(entry);
    if (entry.subscribers.size === 0) this.#entries.delete(uri);
  }

  /**
   * Tells a subscriber that has ended of nothing any more. What it watched stays written on it: its process ends, and not its
   * interest, and a write of it that waits would have it forgotten at every replica.
   */
  clear(subscriber: S): void {
    for (const uri of subscriber.subscriptions ?? []) this.#leave(subscriber, uri);
  }

  /**
   * Calls back for everyone who watches the updated resource, or a resource it is a part of, and who may still see it: a right may
   * be gone since. What is told is what the server says, with the URI that the resource has here.
   */
  updated(server: Server, params: Json, tell: (subscriber: S, params: Json) => void): void {
    const uri = params["uri"];
    if (typeof uri !== "string") return;
    const told = new Map<string, Set<S>>();
    for (const [watched, { subscribers, ready }] of this.#entries) {
      const own = ready.get(server)?.name;
      if (own === undefined || (own !== uri && !uri.startsWith(`${own}/`))) continue;
      const here = `${watched}${uri.slice(own.length)}`;
      for (const [subscriber, route] of subscribers)
        if (route?.server === server && this.#routeOf(subscriber, watched)?.server === server)
          told.set(here, (told.get(here) ?? new Set()).add(subscriber));
    }
    for (const [here, subscribers] of told) {
      const said = here === uri ? params : { ...params, uri: here };
      for (const subscriber of subscribers) tell(subscriber, said);
    }
  }

  /** Moves subscriptions whose resource now belongs to another server object (a reload replaced it), or to none (it was hidden). */
  rebind(): void {
    for (const [uri, entry] of this.#entries) {
      for (const subscriber of entry.subscribers.keys()) this.#bind(entry, subscriber, uri);
      release(entry);
    }
  }
}

function watch<S>({ ready }: Entry<S>, { server, name }: Route): Promise<void> {
  let watched = ready.get(server);
  if (watched === undefined) {
    watched = { done: server.subscribe?.(name) ?? Promise.resolve(), name };
    ready.set(server, watched);
  }
  return watched.done;
}

/** Ends what is watched at servers for nobody any more. */
function release<S>({ subscribers, ready }: Entry<S>): void {
  const wanted = new Set([...subscribers.values()].map((route) => route?.server));
  for (const [server, { done, name }] of ready) {
    if (wanted.has(server)) continue;
    ready.delete(server);
    done.then(() => server.unsubscribe?.(name)).catch(ignore);
  }
}

/** A server that cannot unsubscribe, or is gone, sends no more updates either way. */
function ignore(): void {}
