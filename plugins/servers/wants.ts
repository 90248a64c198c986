import { SEVERITIES } from "propylon/kit";
import { isElsewhere, RemoteServer } from "./remote-server.ts";
import type { Upstream } from "./upstream.ts";

/** What clients want to hear of a server, whichever gateway runs it. */
export class Wants {
  readonly #counts = new Map<string, number>();
  readonly #levels = new Map<object, string>();
  #level: string | undefined;

  /** How often each resource is watched. */
  get watched(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Tells all of it to who runs the server from now on. Best effort. */
  tell(target: Upstream | RemoteServer): void {
    for (const uri of this.#counts.keys()) subscribe(target, uri).catch(() => {});
    if (this.#level !== undefined) this.#tellLevel(target);
  }

  /** @throws {GatewayError} what the server says */
  async subscribe(uri: string, target: Upstream | RemoteServer | undefined): Promise<void> {
    const count = this.#counts.get(uri) ?? 0;
    this.#counts.set(uri, count + 1);
    if (count > 0 || !target) return;
    try {
      await subscribe(target, uri);
    } catch (error) {
      // It is told as soon as that gateway is followed.
      if (isElsewhere(error)) return;
      this.#subtract(uri);
      throw error;
    }
  }

  async unsubscribe(uri: string, target: Upstream | RemoteServer | undefined): Promise<void> {
    if (!this.#counts.has(uri) || !this.#subtract(uri) || !target) return;
    if (target instanceof RemoteServer) target.want({ unsubscribe: uri }).catch(() => {});
    else await target.unsubscribe(uri);
  }

  setLogLevel(
    level: string | undefined,
    asker: object,
    target: Upstream | RemoteServer | undefined,
  ): void {
    if (level === undefined) this.#levels.delete(asker);
    else this.#levels.set(asker, level);
    const wanted = new Set(this.#levels.values());
    const least = SEVERITIES.find((each) => wanted.has(each));
    if (least === this.#level) return;
    this.#level = least;
    if (target) this.#tellLevel(target);
  }

  rootsChanged(target: Upstream | RemoteServer | undefined): void {
    if (target instanceof RemoteServer) target.want({ roots: true }).catch(() => {});
    else target?.rootsChanged();
  }

  /** Takes over what was watched at the server before. */
  inherit(watched: ReadonlyMap<string, number>, target: Upstream | RemoteServer | undefined): void {
    for (const [uri, count] of watched) {
      const before = this.#counts.get(uri) ?? 0;
      this.#counts.set(uri, before + count);
      if (before === 0 && target) subscribe(target, uri).catch(() => {});
    }
  }

  #tellLevel(target: Upstream | RemoteServer): void {
    if (target instanceof RemoteServer) target.want({ level: this.#level ?? null }).catch(() => {});
    else target.setLogLevel(this.#level, this);
  }

  /** @returns whether that was the last one */
  #subtract(uri: string): boolean {
    const count = this.#counts.get(uri)!;
    if (count > 1) this.#counts.set(uri, count - 1);
    else this.#counts.delete(uri);
    return count <= 1;
  }
}

function subscribe(target: Upstream | RemoteServer, uri: string): Promise<void> {
  return target instanceof RemoteServer ? target.want({ subscribe: uri }) : target.subscribe(uri);
}
