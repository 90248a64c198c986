import type { Logger } from "pino";
import {
  type Answer,
  type Call,
  type Catalogue,
  GatewayError,
  type Server,
  type ServerStatus,
  toGatewayError,
} from "propylon";
import {
  type ManagedServer,
  type ServerEvent,
  pause,
  type ProbeReport,
  timeoutSignal,
  within,
  StatusTracker,
} from "propylon/kit";
import { type Era, changedLists, EMPTY_CATALOGUE, type LeftOut } from "propylon/internal";
import type { Store } from "propylon/store";
import { Gate } from "../upstream/gate.ts";
import type { FollowMessage } from "./relay-followers.ts";
import type { Placed } from "./placement-lease.ts";
import type { Placements } from "./placements.ts";
import { isNotThere, RemoteServer } from "./remote-server.ts";
import { isWatching, type Watching } from "../upstream/subscriptions.ts";
import type { Upstream, UpstreamOptions } from "../upstream/upstream.ts";
import { ClientInterests } from "./client-interests.ts";

/** How soon a replica that did not run the server is asked again, in milliseconds. */
const RETRY_MS = 250;
/** How long the last answers may take from a replica that gave the server up and had them all, in milliseconds. */
const LATE_MS = 5_000;

/** What a {@link PlacedServer} is made of. */
export interface PlacedServerOptions {
  readonly name: string;
  readonly log: Logger;
  readonly store: Store;
  readonly placements: Placements;
  /** Lists to show until the server's own arrive. */
  readonly catalogue?: Catalogue | undefined;
  /** Longest time that a call waits for a replica to run the server, in milliseconds. */
  readonly patience: number;
  /** Longest time that its first start takes, in milliseconds. */
  readonly firstStart: number;
  readonly maxDepth: number;
  /** Makes the server itself, with what is known of it. */
  create(known: Pick<UpstreamOptions, "catalogue" | "era" | "kill">): Upstream;
}

/** What calls go to: the server itself, or the replica that runs it. */
type Target = Upstream | RemoteServer;

/** A server that one replica of the store runs for all: calls go to it here, or to the replica that runs it. */
export class PlacedServer implements Placed, Watching {
  readonly name: string;
  readonly watchesSignal = true;
  readonly hasUsableLists = true;
  readonly patience: number;
  readonly #options: PlacedServerOptions;
  readonly #tracker: StatusTracker;
  readonly #placement;
  readonly #interests = new ClientInterests();
  #local: Upstream | undefined;
  #remote: RemoteServer | undefined;
  #catalogue: Catalogue;
  /** What it speaks, wherever it ran last: asking again may take seconds. */
  #era: Era | undefined;
  /** As the replica that runs it tells. */
  #told: ServerStatus | undefined;
  #shown: ServerStatus;
  #unlisten = (): void => {};
  #change = new Gate();
  readonly #uses = new Set<Promise<unknown>>();
  #state: "idle" | "open" | "closed" = "idle";

  constructor(options: PlacedServerOptions) {
    const { name, log, placements, catalogue = EMPTY_CATALOGUE } = options;
    this.name = name;
    this.patience = options.firstStart;
    this.#options = options;
    this.#catalogue = catalogue;
    this.#placement = placements.of(name);
    this.#tracker = new StatusTracker({ server: name, transport: "stdio", log });
    this.#shown = this.#tracker.status;
  }

  get local(): ManagedServer | undefined {
    return this.#local;
  }

  get catalogue(): Catalogue {
    return this.#local?.catalogue ?? this.#catalogue;
  }

  get leftOut(): readonly LeftOut[] {
    return this.#local?.leftOut ?? [];
  }

  get status(): ServerStatus {
    return this.#shown;
  }

  get dropped(): number {
    return this.#local?.dropped ?? 0;
  }

  get watched(): ReadonlyMap<string, number> {
    return this.#interests.watched;
  }

  start(): void {
    this.#state = "open";
    this.#placement.join(this);
  }

  async close(graceMs: number): Promise<void> {
    const { placements } = this.#options;
    const until = performance.now() + graceMs;
    // Those that another replica runs, or that wait for one, have the same time.
    if (this.#uses.size > 0) await within(Promise.allSettled(this.#uses), graceMs);
    this.#state = "closed";
    this.#leave(0);
    await this.#placement.leave(this, Math.max(0, until - performance.now()));
    if (this.#placement.isEmpty) placements.forget(this.name, this.#placement);
    this.#show();
  }

  begin(kill: AbortSignal): void {
    const era = this.#era;
    const local = this.#options.create({ catalogue: this.#catalogue, era, kill });
    this.#local = local;
    this.#unlisten = local.on((event) => {
      if (event.type === "state") this.#show();
      else this.#tracker.emit(event);
    });
    this.#interests.tell(local);
    local.start();
    this.#changed();
  }

  async end(graceMs: number): Promise<void> {
    const local = this.#local;
    if (!local) return;
    this.#catalogue = local.catalogue;
    this.#era = local.status.era ?? this.#era;
    this.#local = undefined;
    this.#unlisten();
    this.#changed();
    await local.close(graceMs);
  }

  moved(): void {
    const { store, maxDepth } = this.#options;
    const { replica = null, fence = 0, taken = false } = this.#placement.record ?? {};
    // What one that died had said was there long before its lease ended.
    this.#leave(taken ? 0 : LATE_MS);
    if (replica !== null && replica !== store.replica && this.#state === "open")
      this.#remote = new RemoteServer({
        name: this.name,
        store,
        maxDepth,
        replica,
        fence,
        hear: (message) => this.#hear(message),
        followed: () => this.#remote && this.#interests.tell(this.#remote),
        lost: () => this.#tell(undefined),
      });
    this.#changed();
  }

  async request(call: Call): Promise<Answer> {
    return this.#use((target) => target.request(call), call.signal);
  }

  async resume(call: Call, task: string): Promise<Answer> {
    return this.#use((target) => target.resume(call, task), call.signal);
  }

  async reconnect(): Promise<void> {
    const { patience } = this.#options;
    await this.#use((target) => target.reconnect(), timeoutSignal(patience));
  }

  async probe(signal: AbortSignal): Promise<ProbeReport> {
    return this.#use((target) => target.probe(signal), signal);
  }

  /** What its child wrote is known where it runs. */
  tail(lines: number): readonly string[] {
    return this.#local?.tail?.(lines) ?? [];
  }

  async subscribe(uri: string): Promise<void> {
    await this.#interests.subscribe(uri, this.#target);
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.#interests.unsubscribe(uri, this.#target);
  }

  setLogLevel(level: string | undefined, asker: object): void {
    this.#interests.setLogLevel(level, asker, this.#target);
  }

  rootsChanged(): void {
    this.#interests.rootsChanged(this.#target);
  }

  inherit(before: Server): void {
    if (isWatching(before)) this.#interests.inherit(before.watched, this.#target);
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  get #target(): Target | undefined {
    // A replica that was stopped for a while reads requests before it learns what it lost.
    if (this.#local) return this.#placement.lease?.isHeld === true ? this.#local : undefined;
    return this.#remote;
  }

  #use<T>(use: (target: Target) => Promise<T>, signal: AbortSignal): Promise<T> {
    const used = this.#useWhereItRuns(use, signal);
    const end = (): boolean => this.#uses.delete(used);
    this.#uses.add(used);
    used.then(end, end);
    return used;
  }

  /** Waits while it moves. */
  async #useWhereItRuns<T>(use: (target: Target) => Promise<T>, signal: AbortSignal): Promise<T> {
    const until = performance.now() + this.#options.patience;
    while (this.#state !== "closed") {
      const change = this.#change.promise;
      const target = this.#target;
      try {
        if (target) return await use(target);
      } catch (error) {
        if (!isNotThere(error)) throw this.#isGone(target) ? this.#moves(error) : error;
      }
      if (signal.aborted || performance.now() > until) break;
      await Promise.race([change, pause(RETRY_MS, signal)]);
    }
    throw this.#moves();
  }

  /** Whether it ended under a call. */
  #isGone(target: Target | undefined): boolean {
    return target !== this.#local && target !== this.#remote;
  }

  #moves(cause?: unknown): GatewayError {
    if (cause !== undefined && toGatewayError(cause).code !== "upstream_error")
      return toGatewayError(cause);
    return new GatewayError("unavailable", `Server "${this.name}" moves to another replica.`, {
      hint: "Make the call again. It may have been carried out.",
      headers: { "retry-after": "1" },
      cause,
    });
  }

  /** Follows nobody any more. */
  #leave(patience: number): void {
    this.#remote?.close(this.#moves(), patience);
    this.#remote = undefined;
    this.#told = undefined;
  }

  #hear(message: FollowMessage): void {
    if ("status" in message) this.#tell(message.status);
    else if ("event" in message) this.#tracker.emit(message.event);
    else {
      const lists = changedLists(this.#catalogue, message.catalogue);
      this.#catalogue = message.catalogue;
      if (lists.length > 0) this.#tracker.emit({ type: "changed", lists });
    }
  }

  #tell(status: ServerStatus | undefined): void {
    this.#told = status;
    this.#era = status?.era ?? this.#era;
    this.#show();
  }

  #changed(): void {
    const gate = this.#change;
    this.#change = new Gate();
    gate.end();
    this.#show();
  }

  #show(): void {
    const { record } = this.#placement;
    const placement = {
      replica: record?.replica ?? null,
      host: record?.host ?? null,
      here: this.#local !== undefined,
      since: record?.since ?? null,
      moves: record?.moves ?? 0,
    };
    const status = { ...(this.#local?.status ?? this.#told ?? this.#waiting()), placement };
    const isNew = status.state !== this.#shown.state || status.reason !== this.#shown.reason;
    const hasMoved = placement.replica !== this.#shown.placement?.replica;
    this.#shown = status;
    if (this.#local) this.#tracker.emit({ type: "state", status });
    else if (isNew || hasMoved) this.#tracker.announce(status);
  }

  /** How it stands where nobody tells. */
  #waiting(): ServerStatus {
    const { state: before, since: at } = this.#shown;
    const state = this.#state === "open" ? "connecting" : this.#state;
    const since = state === before ? at : new Date().toISOString();
    const reason = {
      idle: undefined,
      open: this.#remote
        ? "The replica that runs it does not answer."
        : "Moving: no replica runs it at the moment.",
      closed: "Removed from the gateway, or the gateway is closing.",
    }[this.#state];
    return { state, since, reason, attempts: 0, transport: "stdio" };
  }
}
