import { GatewayError } from "../kit/errors.ts";
import type { StoreDriver, Unsubscribe } from "../store/driver.ts";
import type { WorkerChannel } from "./channel.ts";

/** Names under which a worker uses the store of the primary. */
export const STORE = {
  operation: "store",
  listen: "store:listen",
  unlisten: "store:unlisten",
  news: "store:news",
} as const;

const OPERATIONS = ["get", "put", "delete", "list", "append", "read", "trim", "publish"] as const;

/** One operation of a driver. */
export interface StoreOperation {
  readonly operation: (typeof OPERATIONS)[number];
  readonly args: readonly unknown[];
}

/** What a worker wants to hear of; its own number for it. */
export interface StoreListening {
  readonly id: number;
  readonly kind: "watch" | "follow" | "subscribe";
  readonly name: string;
}

/** What it hears: a key, a message, or nothing more than that something happened. */
export interface StoreNews {
  readonly id: number;
  readonly what?: string | undefined;
}

/** What one worker may listen to. */
const MAX_LISTENING = 10_000;

/** Lets a worker use a driver, until its channel closes. */
export function serveStore(driver: StoreDriver, channel: WorkerChannel): void {
  const listening = new Map<number, Unsubscribe>();
  const stop = (id: number): unknown => {
    const unsubscribe = listening.get(id);
    listening.delete(id);
    return unsubscribe?.();
  };
  channel.answer(STORE.operation, ({ operation, args }: StoreOperation) => {
    if (!OPERATIONS.includes(operation)) throw unknownOperation();
    return (driver[operation] as (...args: readonly unknown[]) => unknown)(...args);
  });
  channel.answer(STORE.listen, async ({ id, kind, name }: StoreListening) => {
    if (listening.size >= MAX_LISTENING) throw tooMany();
    const tell = (what?: string): void => {
      const news: StoreNews = { id, what };
      channel.tell(STORE.news, news);
    };
    listening.set(id, await driver[kind](name, tell));
    if (channel.closed.aborted) void stop(id);
  });
  channel.answer(STORE.unlisten, stop);
  channel.closed.addEventListener("abort", () => {
    for (const id of listening.keys()) void stop(id);
  });
}

function unknownOperation(): GatewayError {
  return new GatewayError("invalid", "A store has no such operation.");
}

function tooMany(): GatewayError {
  return new GatewayError(
    "unavailable",
    `A worker listens to ${MAX_LISTENING} parts of the store already.`,
  );
}
