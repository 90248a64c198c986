import type { Redis } from "ioredis";
import { setTicker, within } from "propylon/kit";
import type { Unsubscribe } from "propylon/store";

/** How often the connection is tried, in milliseconds: one that died without a word is noticed so. */
const BEAT_MS = 5_000;
/** How long somebody waits for it, in milliseconds. */
const PATIENCE_MS = 4_800;

/** Gets a text; `undefined` when some may have been missed. */
type Listener = (text: string | undefined) => void;

interface Channel {
  readonly listeners: Set<Listener>;
  /** Whether a loss of the connection is told: messages are lost with it, all else may have changed. */
  readonly tellsLoss: boolean;
  subscribed: Promise<unknown>;
}

/** What other replicas change and say, over a connection of its own. */
export class Channels {
  readonly #client: Redis;
  readonly #all = new Map<string, Channel>();
  readonly #beat: NodeJS.Timeout;

  /** @param client connected, which subscribes to nothing on its own */
  constructor(client: Redis) {
    this.#client = client;
    client.on("message", (name: string, text: string) => this.#tell(name, text));
    client.on("ready", () => this.#subscribeAgain());
    this.#beat = setTicker(() => void client.ping().catch(() => {}), BEAT_MS).unref();
  }

  /** Tells of what is said on a channel from now on. */
  async on(name: string, listener: Listener, tellsLoss: boolean): Promise<Unsubscribe> {
    const channel = this.#all.get(name) ?? this.#add(name, tellsLoss);
    // One listener may be there twice.
    const own: Listener = (text) => listener(text);
    channel.listeners.add(own);
    const stop = (): Promise<void> => this.#off(name, channel, own);
    try {
      if (await within(channel.subscribed, PATIENCE_MS)) return stop;
    } catch (error) {
      await stop();
      throw error;
    }
    await stop();
    throw new Error("Redis gave no answer.");
  }

  /** Ends the connection. */
  close(): void {
    clearInterval(this.#beat);
    this.#all.clear();
    this.#client.disconnect();
  }

  #add(name: string, tellsLoss: boolean): Channel {
    const subscribed = this.#client.subscribe(name);
    const channel: Channel = { listeners: new Set(), tellsLoss, subscribed };
    subscribed.catch(() => this.#all.get(name) === channel && this.#all.delete(name));
    this.#all.set(name, channel);
    return channel;
  }

  async #off(name: string, channel: Channel, listener: Listener): Promise<void> {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0 || this.#all.get(name) !== channel) return;
    this.#all.delete(name);
    await this.#client.unsubscribe(name).catch(() => {});
  }

  #tell(name: string, text: string | undefined): void {
    for (const listener of this.#all.get(name)?.listeners ?? []) listener(text);
  }

  /** The connection is a different one: it has no channel yet, and what was said meanwhile is lost. */
  #subscribeAgain(): void {
    const names = [...this.#all.keys()];
    if (names.length === 0) return;
    this.#client.subscribe(...names).then(
      () => {
        for (const [name, { tellsLoss }] of this.#all) if (tellsLoss) this.#tell(name, undefined);
      },
      // Without its channels a gateway would never hear of changes.
      () => this.#client.disconnect(true),
    );
  }
}
