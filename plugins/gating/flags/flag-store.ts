import { isDeepStrictEqual } from "node:util";
import { GatewayError, toGatewayError, type PluginContext } from "propylon";
import {
  flagsOf,
  withFlags,
  withoutStaleServers,
  withoutStaleTools,
  type FlagMap,
} from "./flags.ts";
import type { Snapshot, StateKeeper } from "./keeper.ts";
import type { Flag, FlagChange, GatingState } from "../service.ts";
import { NO_HISTORY, toState, type ConnectionHistory } from "./state.ts";

/** How long news about connections waits to be written, in milliseconds: a storm of them is one write. */
const NEWS_MS = 1_000;

/** What a {@link FlagStore} needs of the gateway. */
export interface FlagStoreHost {
  readonly log: PluginContext["log"];
  /** Rebuilds the lists of every interface. */
  relist(): void;
  /** Flags changed: they are written down and in force. */
  changed(flags: readonly Flag[], by: string, remote?: true): void;
}

/** Somebody who waits for flags to be set. */
interface FlagRequest {
  readonly flags: readonly Flag[];
  readonly by: string;
  resolve(changed: readonly Flag[]): void;
  reject(error: unknown): void;
}

/** One use of a keeper; the latest counts. */
interface Opening {
  readonly keeper: StateKeeper | undefined;
  /** Whether who opened it is gone, so that there is no way back to it. */
  isOver: boolean;
}

/**
 * The flags in memory, which alone decide, and the file or store that follows them. Changes are made one batch at a time: first
 * written down, then in memory, so that what was confirmed is never forgotten. Lives through reloads of the plugin.
 */
export class FlagStore {
  readonly #host: FlagStoreHost;
  readonly #history = new Map<string, ConnectionHistory>();
  /** Servers from before the start whose tools were not compared with the live ones yet. */
  readonly #uncompared = new Set<string>();
  #flags: FlagMap = new Map();
  #updatedAt = new Date(0).toISOString();
  #opening: Opening | undefined;
  #requests: FlagRequest[] = [];
  #working: Promise<void> | undefined;
  #news: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(host: FlagStoreHost) {
    this.#host = host;
  }

  /** The flags as they are now. */
  get flags(): FlagMap {
    return this.#flags;
  }

  /**
   * Writes down to a keeper from now on; `undefined` = memory only. The first one is read; for later ones memory is the truth, unless
   * other replicas write there, too.
   *
   * @returns undoes it, unless another was opened since
   * @throws {GatewayError} as `StateKeeper.load`
   */
  async open(wanted: StateKeeper | undefined): Promise<() => Promise<void>> {
    const before = this.#opening;
    const keeper = before?.keeper?.place === wanted?.place ? before?.keeper : wanted;
    const opening: Opening = { keeper, isOver: false };
    if (keeper !== before?.keeper) await this.#read(keeper, before === undefined);
    this.#opening = opening;
    return async () => {
      opening.isOver = true;
      if (this.#opening === opening && before && !before.isOver) this.#opening = before;
      // Without another use this was the last: what waits is written before it is given up.
      if (this.#opening?.keeper !== opening.keeper) await opening.keeper?.release();
    };
  }

  async #read(keeper: StateKeeper | undefined, isFirst: boolean): Promise<void> {
    const remembered = await keeper?.load();
    if (!isFirst) {
      if (remembered && keeper?.isShared)
        this.#flags = withFlags(this.#flags, [...flagsOf(remembered.flags)]).flags;
      return this.#postpone();
    }
    if (!remembered) return;
    this.#flags = remembered.flags;
    for (const [server, history] of remembered.history) this.#history.set(server, history);
    for (const server of remembered.flags.keys()) this.#uncompared.add(server);
  }

  /** Takes over what another replica changed and wrote down. */
  adopt(changes: readonly FlagChange[]): void {
    for (const { by, remote, ...flag } of changes) {
      const { flags, changed } = withFlags(this.#flags, [flag]);
      if (changed.length === 0) continue;
      this.#flags = flags;
      this.#host.relist();
      this.#host.changed(changed, by, remote);
    }
  }

  /**
   * Sets flags, all or none.
   *
   * @returns those that changed, once they are written down and in force, at the other replicas of the store too
   * @throws {GatewayError} `io_error` or `unavailable` when they cannot be written, `draining` at the end; then nothing changed
   */
  set(flags: readonly Flag[], by: string): Promise<readonly Flag[]> {
    if (this.#isClosed)
      return Promise.reject(new GatewayError("draining", "The gateway is closed."));
    return new Promise((resolve, reject) => {
      this.#requests.push({ flags, by, resolve, reject });
      this.#work();
    });
  }

  /** What is written down. */
  export(): GatingState {
    return toState(this.#flags, this.#history, this.#updatedAt);
  }

  /** Notes how a connection went. */
  note(server: string, news: Partial<ConnectionHistory>): void {
    const before = this.#history.get(server) ?? NO_HISTORY;
    const after = { ...before, ...news };
    if (isDeepStrictEqual(after, before)) return;
    this.#history.set(server, after);
    this.#postpone();
  }

  /** Drops what the file had about tools that the server does not have; once, with its first list. */
  compare(server: string, tools: readonly { readonly name: string }[]): void {
    if (!this.#uncompared.delete(server)) return;
    this.#drop(withoutStaleTools(this.#flags, server, new Set(tools.map(({ name }) => name))));
  }

  /** Drops servers that left the config. */
  prune(exists: (server: string) => boolean): void {
    for (const server of this.#history.keys()) if (!exists(server)) this.#history.delete(server);
    for (const server of this.#uncompared) if (!exists(server)) this.#uncompared.delete(server);
    this.#drop(withoutStaleServers(this.#flags, exists));
  }

  /** Writes what waits; the end. What comes later would take the file again, and nobody would give it back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
    if (this.#news !== undefined) await this.#writeNews();
    await this.#opening?.keeper?.release();
  }

  #drop(flags: FlagMap): void {
    if (flags === this.#flags) return;
    this.#flags = flags;
    this.#postpone();
  }

  #work(): void {
    this.#working ??= this.#workOff().finally(() => {
      this.#working = undefined;
      if (this.#requests.length > 0) this.#work();
    });
  }

  async #workOff(): Promise<void> {
    while (this.#requests.length > 0) await this.#fulfil(this.#requests.splice(0));
  }

  /** Everything that was asked for while the last write ran is one write. */
  async #fulfil(requests: readonly FlagRequest[]): Promise<void> {
    let { flags } = this;
    const done = requests.map((request) => {
      const result = withFlags(flags, request.flags);
      flags = result.flags;
      return { request, changed: result.changed };
    });
    try {
      const changes = done.flatMap(({ request, changed }) =>
        changed.map((flag) => ({ ...flag, by: request.by })),
      );
      await this.#commit(changes, flags);
    } catch (error) {
      // Some of it may have been written.
      this.#postpone();
      for (const { request } of done) request.reject(error);
      return;
    }
    for (const { request, changed } of done) {
      if (changed.length > 0) this.#host.changed(changed, request.by);
      void this.#agree(changed, request.by).then(() => request.resolve(changed));
    }
  }

  /** The caller may go on at another replica; the next switch need not wait for that. */
  async #agree(changed: readonly Flag[], by: string): Promise<void> {
    const keeper = this.#opening?.keeper;
    if (changed.length > 0) await keeper?.agree?.(changed.map((flag) => ({ ...flag, by })));
  }

  async #commit(changed: readonly FlagChange[], flags: FlagMap): Promise<void> {
    if (changed.length === 0) return;
    const settle = await this.#write(flags, (keeper, now) => keeper.change(changed, now));
    // Servers may have been dropped meanwhile, so the change is made again on what is there now.
    this.#flags = withFlags(this.#flags, changed).flags;
    settle?.();
    this.#host.relist();
  }

  async #write<T>(
    flags: FlagMap,
    write: (keeper: StateKeeper, now: Snapshot) => Promise<T>,
  ): Promise<T | undefined> {
    const now = { flags, history: this.#history, updatedAt: new Date().toISOString() };
    const keeper = this.#opening?.keeper;
    const written = keeper && (await write(keeper, now));
    this.#updatedAt = now.updatedAt;
    return written;
  }

  #postpone(): void {
    if (this.#isClosed || this.#news !== undefined || this.#opening?.keeper?.isForeign) return;
    this.#news = setTimeout(() => void this.#writeNews(), NEWS_MS).unref();
  }

  #noteFailure({ code, cause, message }: GatewayError): void {
    // A store that is away has said so itself, and comes back.
    if (code === "unavailable") this.#postpone();
    else this.#host.log.warn({ err: cause }, message);
  }

  /** In the queue of the other writes; a failure costs nothing but the news. */
  async #writeNews(): Promise<void> {
    clearTimeout(this.#news);
    this.#news = undefined;
    const write = async (): Promise<void> => {
      try {
        await this.#write(this.#flags, (keeper, now) => keeper.follow(now));
      } catch (error) {
        this.#noteFailure(toGatewayError(error));
      }
    };
    while (this.#working) await this.#working;
    this.#working = write().finally(() => {
      this.#working = undefined;
      if (this.#requests.length > 0) this.#work();
    });
    await this.#working;
  }
}
