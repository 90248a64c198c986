import { isNotThere, RemoteServer } from "./remote-server.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { WantedLevels } from "../upstream/wanted-levels.ts";
import { WatchCounts } from "../upstream/watch-counts.ts";

/** What clients want to hear of a server, whichever replica runs it. */
export class ClientInterests {
  readonly #counts = new WatchCounts();
  readonly #levels = new WantedLevels();

  /** How often each resource is watched. */
  get watched(): ReadonlyMap<string, number> {
    return this.#counts.all;
  }

  /** Tells all of it to who runs the server from now on. Best effort. */
  tell(target: Upstream | RemoteServer): void {
    for (const uri of this.#counts.all.keys()) subscribe(target, uri).catch(() => {});
    if (this.#levels.least !== undefined) this.#tellLevel(target);
  }

  /** @throws {GatewayError} what the server says */
  async subscribe(uri: string, target: Upstream | RemoteServer | undefined): Promise<void> {
    const isFirst = this.#counts.add(uri);
    if (!isFirst || !target) return;
    try {
      await subscribe(target, uri);
    } catch (error) {
      // It is told as soon as that replica is followed.
      if (isNotThere(error)) return;
      this.#counts.remove(uri);
      throw error;
    }
  }

  async unsubscribe(uri: string, target: Upstream | RemoteServer | undefined): Promise<void> {
    if (!this.#counts.remove(uri) || !target) return;
    if (target instanceof RemoteServer) target.want({ unsubscribe: uri }).catch(() => {});
    else await target.unsubscribe(uri);
  }

  setLogLevel(
    level: string | undefined,
    asker: object,
    target: Upstream | RemoteServer | undefined,
  ): void {
    if (this.#levels.set(level, asker) && target) this.#tellLevel(target);
  }

  rootsChanged(target: Upstream | RemoteServer | undefined): void {
    if (target instanceof RemoteServer) target.want({ roots: true }).catch(() => {});
    else target?.rootsChanged();
  }

  /** Takes over what was watched at the server before. */
  inherit(watched: ReadonlyMap<string, number>, target: Upstream | RemoteServer | undefined): void {
    for (const [uri, count] of watched)
      if (this.#counts.add(uri, count) && target) subscribe(target, uri).catch(() => {});
  }

  #tellLevel(target: Upstream | RemoteServer): void {
    const { least } = this.#levels;
    if (target instanceof RemoteServer) target.want({ level: least ?? null }).catch(() => {});
    else target.setLogLevel(least, this);
  }
}

function subscribe(target: Upstream | RemoteServer, uri: string): Promise<void> {
  return target instanceof RemoteServer ? target.want({ subscribe: uri }) : target.subscribe(uri);
}
