import type { Server } from "../server/server.ts";
import type { Json } from "../call/types.ts";
import { toGatewayError } from "../errors.ts";
import { invalid } from "./forward.ts";
import type { Fault } from "./protocol.ts";
import { RPC } from "./protocol.ts";
import type { View } from "./view.ts";

interface Entry<S> {
  /** `undefined` while no server has the resource. */
  server: Server | undefined;
  readonly subscribers: Set<S>;
  /** The server's own answer to the first subscription. */
  readonly ready: Promise<void>;
}

/** One subscriber may watch so many resources. */
const MAX_PER_SUBSCRIBER = 1_000;

/** Who watches which resource. The servers see one subscription per resource, however many clients watch it. */
export class Subscriptions<S extends { subscriptions?: Set<string> | undefined }> {
  readonly #entries = new Map<string, Entry<S>>();
  readonly #view: () => View;

  constructor(view: () => View) {
    this.#view = view;
  }

  /** Adds a subscriber; resolves with a fault if the server refuses. */
  async add(subscriber: S, uri: string): Promise<Fault | undefined> {
    if ((subscriber.subscriptions?.size ?? 0) >= MAX_PER_SUBSCRIBER)
      return invalid(`Only ${MAX_PER_SUBSCRIBER} subscriptions are allowed.`);
    const entry = this.#entries.get(uri) ?? this.#open(uri);
    if (entry === undefined)
      return {
        status: 200,
        code: RPC.resourceNotFound,
        message: "Resource not found",
        data: { uri },
      };
    entry.subscribers.add(subscriber);
    (subscriber.subscriptions ??= new Set()).add(uri);
    try {
      await entry.ready;
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

  #open(uri: string): Entry<S> | undefined {
    const server = this.#view().watchable(uri);
    if (server === undefined) return undefined;
    const entry = {
      server,
      subscribers: new Set<S>(),
      ready: server.subscribe?.(uri) ?? Promise.resolve(),
    };
    this.#entries.set(uri, entry);
    return entry;
  }

  /** Removes one subscription. */
  remove(subscriber: S, uri: string): void {
    subscriber.subscriptions?.delete(uri);
    if (subscriber.subscriptions?.size === 0) subscriber.subscriptions = undefined;
    const entry = this.#entries.get(uri);
    if (!entry?.subscribers.delete(subscriber) || entry.subscribers.size > 0) return;
    this.#entries.delete(uri);
    entry.ready.then(() => entry.server?.unsubscribe?.(uri)).catch(ignore);
  }

  /** Removes all subscriptions of one subscriber. */
  clear(subscriber: S): void {
    for (const uri of subscriber.subscriptions ?? []) this.remove(subscriber, uri);
  }

  /** Calls back for everyone who watches the updated resource, or a resource it is a part of. */
  updated(server: Server, params: Json, tell: (subscriber: S) => void): void {
    const uri = params["uri"];
    if (typeof uri !== "string") return;
    const told = new Set<S>();
    for (const [watched, entry] of this.#entries) {
      if (entry.server !== server || (watched !== uri && !uri.startsWith(`${watched}/`))) continue;
      for (const subscriber of entry.subscribers) told.add(subscriber);
    }
    told.forEach(tell);
  }

  /** Moves subscriptions whose resource now belongs to another server object (a reload replaced it), or to none (it was hidden). */
  rebind(): void {
    for (const [uri, entry] of this.#entries) {
      const server = this.#view().watchable(uri);
      if (server === entry.server) continue;
      entry.server?.unsubscribe?.(uri).catch(ignore);
      server?.subscribe?.(uri).catch(ignore);
      entry.server = server;
    }
  }
}

/** A server that cannot unsubscribe, or is gone, sends no more updates either way. */
function ignore(): void {}
