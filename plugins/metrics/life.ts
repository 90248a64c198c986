import type { GatewayHooks, PluginContext, Server } from "propylon";
import type { BreakerStatus } from "propylon/plugins/breaker";
import { Family } from "./distribution.ts";

/** What happened to the gateway itself: reloads, sessions, connections. Lives through reloads, like the counts. */
export class GatewayLife {
  /** Answers that were cut off, by reason. */
  readonly cuts = { stalled: 0, principal: 0, total: 0 };
  /** Requests refused for wrong credentials before them, by what was counted. */
  readonly throttled = { address: 0, token: 0 };
  /** Streams of sessions that were not taken over from other replicas, by what was full. */
  readonly refusedStreams = { principal: 0, total: 0 };
  readonly reloads = { done: 0, failed: 0 };
  /** Connection attempts after the first, by server. */
  readonly reconnects = new Map<string, number>();
  /** State of the circuits that a breaker told about. */
  readonly circuits = new Map<string, BreakerStatus["state"]>();
  /** Durations of ended sessions. */
  readonly sessionTimes: Family;
  /** When the open sessions began, by endpoint and id. */
  readonly #sessions = new Map<string, Map<string, number>>();
  /** Servers that tried to connect before. */
  readonly #dialled = new Set<string>();

  constructor(bounds: readonly number[]) {
    this.sessionTimes = new Family([], bounds);
    this.sessionTimes.of([]);
  }

  /** Listens to everything it counts. */
  watch(gateway: Pick<PluginContext, "hook">): void {
    const listeners: Partial<GatewayHooks> = {
      "reload:done": () => void this.reloads.done++,
      "reload:failed": () => void this.reloads.failed++,
      "server:state": (name, { state }) => {
        if (state === "connecting") this.#dial(name);
        else if (state !== "idle") this.#dialled.add(name);
      },
      "answer:cut": ({ reason }) => void this.cuts[reason]++,
      "stream:refused": (_endpoint, bound) => void this.refusedStreams[bound]++,
      "auth:throttled": (by) => void this.throttled[by]++,
      "session:open": (endpoint, id) => this.#open(endpoint, id),
      "session:close": (endpoint, id) => this.#close(endpoint, id),
      "breaker:state": (server, { state }) => void this.circuits.set(server, state),
    };
    for (const [hook, listener] of Object.entries(listeners))
      gateway.hook(hook as keyof GatewayHooks, listener);
  }

  /** Remembers which servers have tried to connect already, when the first thing heard of them may be a reconnect. */
  meet(servers: ReadonlyMap<string, Server>): void {
    for (const [name, { status }] of servers) if (status.state !== "idle") this.#dialled.add(name);
  }

  /** Open sessions by endpoint. */
  *sessions(): Generator<readonly [endpoint: string, count: number]> {
    for (const [endpoint, sessions] of this.#sessions) yield [endpoint, sessions.size];
  }

  /** Forgets servers that are gone. */
  keep(isKnown: (server: string) => boolean): void {
    for (const names of [this.reconnects, this.circuits, this.#dialled])
      for (const name of names.keys()) if (!isKnown(name)) names.delete(name);
  }

  #dial(name: string): void {
    if (this.#dialled.has(name)) this.reconnects.set(name, (this.reconnects.get(name) ?? 0) + 1);
    this.#dialled.add(name);
  }

  #open(endpoint: string, id: string): void {
    const sessions = this.#sessions.get(endpoint) ?? new Map<string, number>();
    this.#sessions.set(endpoint, sessions.set(id, performance.now()));
  }

  #close(endpoint: string, id: string): void {
    const sessions = this.#sessions.get(endpoint);
    const began = sessions?.get(id);
    if (began === undefined) return;
    sessions!.delete(id);
    this.sessionTimes.of([]).observe((performance.now() - began) / 1_000);
  }
}
