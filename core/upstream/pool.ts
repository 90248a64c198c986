import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { ServerConfig } from "../config/schema.ts";
import type { Changes } from "../hooks.ts";
import type { ProviderEvent } from "../provider.ts";
import type { ClientInfo } from "./envelope.ts";
import { Upstream } from "./upstream.ts";

/** What an {@link UpstreamPool} is made of. */
export interface UpstreamPoolOptions {
  readonly log: Logger;
  /** How the gateway introduces itself to servers. */
  readonly clientInfo: ClientInfo;
  /** Directory that relative paths in server entries start from. */
  readonly cwd: string;
  /** Receives the events of the servers in use, not of those only planned. */
  onEvent(name: string, event: ProviderEvent): void;
}

/** A change of the set of servers, begun but not in use yet. Ends with exactly one `commit` or `abort`. */
export interface UpstreamPlan {
  readonly changes: Changes;
  /** The servers as they will be, in the order of the config. Those that did not change are the very same objects. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /**
   * Puts it to use; resolves when the replaced servers are closed, after their calls in flight, at most `drainMs` later.
   * @param arrived resolves when no call is on its way to a replaced server any more; until then they take calls
   */
  commit(drainMs: number, arrived?: Promise<unknown>): Promise<void>;
  /** Takes it back; closes only what the plan created. */
  abort(): Promise<void>;
}

/** The servers of a gateway. They outlive reloads: only a changed entry is replaced, beside the old one until committed. */
export class UpstreamPool {
  readonly #options: UpstreamPoolOptions;
  #upstreams: ReadonlyMap<string, Upstream> = new Map();

  constructor(options: UpstreamPoolOptions) {
    this.#options = options;
  }

  /** The servers in use, in the order of the config. */
  get upstreams(): ReadonlyMap<string, Upstream> {
    return this.#upstreams;
  }

  /** Creates and starts what is new or changed. Entries with `enabled: false` count as absent. */
  plan(servers: Readonly<Record<string, ServerConfig>>): UpstreamPlan {
    const before = this.#upstreams;
    const upstreams = new Map<string, Upstream>();
    const changes = {
      added: [] as string[],
      removed: [] as string[],
      changed: [] as string[],
      unchanged: [] as string[],
    };
    for (const [name, config] of Object.entries(servers)) {
      if (!config.enabled) continue;
      const old = before.get(name);
      const same = old !== undefined && isDeepStrictEqual(old.config, config);
      changes[old === undefined ? "added" : same ? "unchanged" : "changed"].push(name);
      upstreams.set(name, same ? old : this.#create(name, config, old));
    }
    for (const name of before.keys()) if (!upstreams.has(name)) changes.removed.push(name);
    for (const names of Object.values(changes)) names.sort();
    const created = [...upstreams.values()].filter(
      (upstream) => before.get(upstream.name) !== upstream,
    );
    return {
      changes,
      upstreams,
      commit: (drainMs, arrived) => this.#commit(upstreams, drainMs, arrived),
      abort: () => closeAll(created, 0),
    };
  }

  /** Closes every server after its calls in flight, at most after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    const upstreams = [...this.#upstreams.values()];
    await closeAll(upstreams, graceMs);
    this.#upstreams = new Map();
  }

  #create(name: string, config: ServerConfig, old: Upstream | undefined): Upstream {
    const { log, clientInfo, cwd } = this.#options;
    const upstream = new Upstream({
      name,
      config,
      clientInfo,
      cwd,
      log,
      ...(old && { catalogue: old.catalogue }),
    });
    upstream.on((event) => {
      if (this.#upstreams.get(name) === upstream) this.#options.onEvent(name, event);
    });
    upstream.start();
    return upstream;
  }

  async #commit(
    upstreams: ReadonlyMap<string, Upstream>,
    drainMs: number,
    arrived: Promise<unknown> | undefined,
  ): Promise<void> {
    const before = this.#upstreams;
    this.#upstreams = upstreams;
    const replaced = [...before.values()].filter(
      (upstream) => upstreams.get(upstream.name) !== upstream,
    );
    for (const old of replaced) upstreams.get(old.name)?.inherit(old);
    await arrived;
    await closeAll(replaced, drainMs);
  }
}

async function closeAll(upstreams: readonly Upstream[], graceMs: number): Promise<void> {
  await Promise.all(upstreams.map((upstream) => upstream.close(graceMs)));
}
