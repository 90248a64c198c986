import { type Json, type Server, toGatewayError } from "propylon";
import { invalid } from "./forward.ts";
import type { Fault } from "./protocol.ts";
import { RPC } from "./protocol.ts";

/** One resource that is watched. */
interface Entry<S> {
  /** Who watches it, and whose it is for them; `undefined` while no server has it. */
  readonly subscribers: Map<S, Server | undefined>;
  /** A server's own answer to the first subscription. */
  readonly ready: Map<Server, Promise<void>>;
}

/** One subscriber may watch so many resources. */
export const MAX_PER_SUBSCRIBER = 1_000;

/** Who watches which resource. The servers see one subscription per resource, however many clients watch it. */
export class ResourceWatchers<S extends { subscriptions?: Set<string> | undefined }> {
  readonly #entries = new Map<string, Entry<S>>();
  readonly #serverOf: (subscriber: S, uri: string) => Server | undefined;

  /** @param serverOf whose a resource is, for a subscriber and at the moment; `undefined` for one that it does not see */
  constructor(serverOf: (subscriber: S, uri: string) => Server | undefined) {
    this.#serverOf = serverOf;
  }

  /** Adds a subscriber; resolves with a fault if the server refuses. */
  async add(subscriber: S, uri: string): Promise<Fault | undefined> {
    if ((subscriber.subscriptions?.size ?? 0) >= MAX_PER_SUBSCRIBER)
      return invalid(`Only ${MAX_PER_SUBSCRIBER} subscriptions are allowed.`);
    const server = this.#serverOf(subscriber, uri);
    if (server === undefined)
      return {
        status: 200,
        code: RPC.resourceNotFound,
        message: "Resource not found",
        data: { uri },
      };
    const entry = this.#entry(uri);
    entry.subscribers.set(subscriber, server);
    (subscriber.subscriptions ??= new Set()).add(uri);
    try {
      await watch(entry, server, uri);
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
    const server = this.#serverOf(subscriber, uri);
    entry.subscribers.set(subscriber, server);
    if (server) watch(entry, server, uri).catch(ignore);
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
    const entry = this.#entries.get(uri);
    if (!entry?.subscribers.delete(subscriber)) return;
    release(entry, uri);
    if (entry.subscribers.size === 0) this.#entries.delete(uri);
  }

  /** Removes all subscriptions of one subscriber. */
  clear(subscriber: S): void {
    for (const uri of subscriber.subscriptions ?? []) this.remove(subscriber, uri);
  }

  /**
   * Calls back for everyone who watches the updated resource, or a resource it is a part of, and who may still see it: a right may
   * be gone since.
   */
  updated(server: Server, params: Json, tell: (subscriber: S) => void): void {
    const uri = params["uri"];
    if (typeof uri !== "string") return;
    const told = new Set<S>();
    for (const [watched, { subscribers }] of this.#entries) {
      if (watched !== uri && !uri.startsWith(`${watched}/`)) continue;
      for (const [subscriber, owner] of subscribers)
        if (owner === server && this.#serverOf(subscriber, watched) === server)
          told.add(subscriber);
    }
    told.forEach(tell);
  }

  /** Moves subscriptions whose resource now belongs to another server object (a reload replaced it), or to none (it was hidden). */
  rebind(): void {
    for (const [uri, entry] of this.#entries) {
      for (const subscriber of entry.subscribers.keys()) this.#bind(entry, subscriber, uri);
      release(entry, uri);
    }
  }
}

function watch<S>({ ready }: Entry<S>, server: Server, uri: string): Promise<void> {
  let promise = ready.get(server);
  if (promise === undefined) {
    promise = server.subscribe?.(uri) ?? Promise.resolve();
    ready.set(server, promise);
  }
  return promise;
}

/** Ends what is watched at servers for nobody any more. */
function release<S>({ subscribers, ready }: Entry<S>, uri: string): void {
  const wanted = new Set(subscribers.values());
  for (const [server, promise] of ready) {
    if (wanted.has(server)) continue;
    ready.delete(server);
    promise.then(() => server.unsubscribe?.(uri)).catch(ignore);
  }
}

/** A server that cannot unsubscribe, or is gone, sends no more updates either way. */
function ignore(): void {}
