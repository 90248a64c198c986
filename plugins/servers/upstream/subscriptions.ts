import { GatewayError, type Json, type Server } from "propylon";
import { backoffDelay, isObject, setTimer } from "propylon/kit";
import type { Connection } from "../connection/connection.ts";
import type { Exchange } from "../wire/exchange.ts";
import { WatchCounts } from "./watch-counts.ts";

/** How long a server may take to answer a subscription request, in milliseconds. */
const REQUEST_MS = 5_000;
/** How long to wait for the acknowledgement of a listen stream, which not every server sends, in milliseconds. */
const ACKNOWLEDGE_MS = 1_000;
/** How long after the end of a replaced stream its last copies of updates may still arrive, in milliseconds. */
const OVERLAP_MS = 50;
/** Wait before a listen stream that ended is opened again. */
const REOPEN_MS = { initial: 500, max: 30_000 };

/** A server that another may take the place of. */
export interface Watching extends Server {
  /** How often each of its resources is watched. */
  readonly watched: ReadonlyMap<string, number>;
}

/** Whether a server of this plugin is it. */
export function isWatching(server: Server): server is Watching {
  return "watched" in server;
}

/**
 * Which resources of a server are watched. Outlives connections: each new one is told all of them. In the legacy era each is a
 * request, in the modern one all of them and the list changes are one `subscriptions/listen` stream.
 */
export class Subscriptions {
  readonly #counts = new WatchCounts();
  readonly #updated: (params: Json) => void;
  /** What the server does not know yet, by resource. */
  readonly #adding = new Map<string, Promise<void>>();
  /** Updates by resource since two streams overlap, each of which may bring its own copy. */
  readonly #held = new Map<string, Json>();
  #overlaps = 0;
  #connection: Connection | undefined;
  #stream: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** The last that was told anything. */
  #last: Connection | undefined;

  /** @param updated a resource was updated, or may have been: what {@link hold} had taken, or nobody heard */
  constructor(updated: (params: Json) => void) {
    this.#updated = updated;
  }

  /** The resources watched. */
  get uris(): readonly string[] {
    return [...this.#counts.all.keys()];
  }

  /** How often each is watched. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts.all;
  }

  /** Takes over what an earlier owner watched. */
  inherit(watched: ReadonlyMap<string, number>): void {
    for (const [uri, count] of watched) this.#counts.add(uri, count);
  }

  /**
   * Watches a resource; resolves when the server knows, at once if there is no connection.
   * @throws {GatewayError} `upstream_error` when the server refuses
   */
  async add(uri: string): Promise<void> {
    const isFirst = this.#counts.add(uri);
    if (!this.#connection) return;
    try {
      await (isFirst ? this.#announce(this.#connection, uri) : this.#adding.get(uri));
    } catch (error) {
      this.#counts.remove(uri);
      throw error;
    }
  }

  /** A caller that adds the same resource meanwhile waits for the same answer. */
  #announce(connection: Connection, uri: string): Promise<void> {
    const told = this.#modern
      ? this.#listen(connection)
      : this.#tell(connection, "resources/subscribe", uri);
    const adding = told.finally(() => {
      if (this.#adding.get(uri) === adding) this.#adding.delete(uri);
    });
    this.#adding.set(uri, adding);
    return adding;
  }

  /**
   * Takes an update while two streams overlap, so that both copies become one; several updates do too, which loses nothing:
   * who reads afterwards reads the newest. Returns false when nothing overlaps.
   */
  hold(params: Json): boolean {
    const { uri } = params;
    if (this.#overlaps === 0 || typeof uri !== "string") return false;
    this.#held.set(uri, params);
    return true;
  }

  /** Ends one {@link add}. Best effort towards the server. */
  async remove(uri: string): Promise<void> {
    if (!this.#counts.remove(uri) || !this.#connection) return;
    if (this.#modern) await this.#listen(this.#connection);
    else await this.#tell(this.#connection, "resources/unsubscribe", uri);
  }

  /** Tells a new connection everything; a watcher hears of what may have changed since the previous one. */
  async resume(connection: Connection): Promise<void> {
    this.#connection = connection;
    this.#failures = 0;
    const hadGap = this.#last !== undefined && this.#last !== connection;
    this.#last = connection;
    try {
      if (this.#modern) await this.#listen(connection);
      else
        await Promise.all(
          this.uris.map((uri) => this.#tell(connection, "resources/subscribe", uri)),
        );
    } finally {
      if (hadGap) this.missed();
    }
  }

  /** Updates may have been lost: a watcher reads again. */
  missed(): void {
    for (const uri of this.uris) this.#updated({ uri });
  }

  /** Tells a connection beside it everything, or that one resource is watched or not any more. Best effort: never rejects. */
  async tellBeside(connection: Connection, uris: readonly string[] = this.uris): Promise<void> {
    const tell = async (uri: string): Promise<void> => {
      const method = this.#counts.has(uri) ? "resources/subscribe" : "resources/unsubscribe";
      await this.#tell(connection, method, uri).catch(() => undefined);
    };
    await Promise.all(uris.map(tell));
  }

  /** The connection is gone. */
  suspend(): void {
    clearTimeout(this.#timer);
    this.#connection = undefined;
    this.#stream = undefined;
  }

  get #modern(): boolean {
    return this.#connection?.handshake?.era === "modern";
  }

  async #tell(connection: Connection, method: string, uri: string): Promise<void> {
    const { error } = await connection.request(method, { uri }, { timeout: REQUEST_MS });
    if (!error) return;
    throw new GatewayError(
      "upstream_error",
      `Server "${connection.name}" refused ${method}: ${error.message}`,
      {
        data: { server: connection.name, rpc: error.code },
      },
    );
  }

  /** Opens the stream for the current set, and only then ends the previous one: nothing is missed in between. */
  async #listen(connection: Connection): Promise<void> {
    clearTimeout(this.#timer);
    const filter = this.#filter(connection.handshake!.capabilities);
    const before = this.#stream;
    const overlaps = before !== undefined && !before.done;
    if (overlaps) this.#overlaps++;
    this.#stream = undefined;
    if (Object.keys(filter).length > 0) {
      const stream = connection.open("subscriptions/listen", { notifications: filter });
      this.#stream = stream;
      const ended = stream.answer.then(
        ({ error }) => this.#onEnd(stream, error?.code === -32601),
        () => this.#onEnd(stream, false),
      );
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ACKNOWLEDGE_MS);
        stream.acknowledged = () => {
          this.#failures = 0;
          resolve();
        };
        void ended.then(resolve);
      });
      clearTimeout(timer);
    }
    if (before && !before.done) {
      connection.cancelled(before);
      before.fail(new GatewayError("cancelled", "Replaced by another subscription stream."));
    }
    if (overlaps) setTimeout(() => this.#release(), OVERLAP_MS).unref();
  }

  /** One overlap less; with the last, what was held is told. */
  #release(): void {
    if (--this.#overlaps > 0) return;
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const params of held) this.#updated(params);
  }

  #filter(capabilities: Json): Json {
    const announces = (list: string): boolean =>
      isObject(capabilities[list]) && capabilities[list]["listChanged"] === true;
    return {
      ...(announces("tools") && { toolsListChanged: true }),
      ...(announces("prompts") && { promptsListChanged: true }),
      ...(announces("resources") && { resourcesListChanged: true }),
      ...(this.#counts.all.size > 0 && { resourceSubscriptions: this.uris }),
    };
  }

  #onEnd(stream: Exchange, unknown: boolean): void {
    if (stream !== this.#stream) return;
    this.#stream = undefined;
    const connection = this.#connection;
    if (!connection || unknown) return;
    this.#timer = setTimer(
      () => {
        void this.#listen(connection).then(() => connection.receiver.missed());
      },
      backoffDelay(++this.#failures, REOPEN_MS),
    );
    this.#timer.unref();
  }
}
