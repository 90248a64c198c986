import pino from "pino";
import type { StoreDriver, Store } from "propylon/store";
import { until } from "../../kit/until.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

/** A store that outlives the gateways of a test. */
export interface Kept {
  /** What the driver was asked of sessions, as method and key; where it keeps nothing, of anything. */
  readonly asked: string[];
  /** Keys of the sessions that are there. */
  keys(): Promise<string[]>;
  /** Keys of the servers whose names are there. */
  names(): Promise<string[]>;
  /** The text of one. */
  read(key: string): Promise<string>;
  /** Puts a text in the place of one. */
  write(key: string, text: string): Promise<void>;
  /** Whether it rejects everything. */
  away: boolean;
  /** What everything waits for before it is done. */
  hold: Promise<void> | undefined;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
  /** It, as a gateway that has just started gets it. */
  open(): Store;
}

const BUCKET = "mcp/sessions";

/** @param is what it says of itself */
export function outliving(is = { durable: true, shared: false }): Kept {
  const memory = new MemoryDriver();
  let pending = 0;
  const kept: Kept = {
    asked: [],
    away: false,
    hold: undefined,
    keys: async () => {
      const entries = await memory.list(BUCKET, { prefix: "", limit: 100_000 });
      return entries.map(({ key }) => key);
    },
    names: async () => {
      const entries = await memory.list("mcp/names", { prefix: "", limit: 1_000 });
      return entries.map(({ key }) => key);
    },
    read: async (key) => (await memory.get(BUCKET, key))!.value,
    write: async (key, text) => void (await memory.put(BUCKET, key, text)),
    idle: () => until(() => pending === 0 || undefined).then(() => {}),
    open: () => {
      const driver = watched(memory, kept, is, (change) => (pending += change));
      return new GatewayStore(driver, pino({ level: "silent" })).scope("mcp");
    },
  };
  return kept;
}

function watched(
  memory: MemoryDriver,
  kept: Kept,
  is: Pick<StoreDriver, "durable" | "shared">,
  count: (change: 1 | -1) => void,
): StoreDriver {
  const ask = async <T>(
    method: string,
    bucket: string,
    key: string,
    work: () => Promise<T>,
  ): Promise<T> => {
    if (bucket === BUCKET || !is.durable) kept.asked.push(`${method} ${key}`);
    count(1);
    try {
      await kept.hold;
      if (kept.away) throw new Error("away");
      return await work();
    } finally {
      count(-1);
    }
  };
  return {
    ...is,
    get: (bucket, key) => ask("get", bucket, key, () => memory.get(bucket, key)),
    put: (bucket, key, ...rest) => ask("put", bucket, key, () => memory.put(bucket, key, ...rest)),
    delete: (bucket, key, rev) => ask("delete", bucket, key, () => memory.delete(bucket, key, rev)),
    list: async (...args) => {
      await kept.hold;
      return memory.list(...args);
    },
    watch: (...args) => memory.watch(...args),
    append: (...args) => memory.append(...args),
    read: (...args) => memory.read(...args),
    trim: (...args) => memory.trim(...args),
    follow: (...args) => memory.follow(...args),
    publish: (...args) => memory.publish(...args),
    subscribe: (...args) => memory.subscribe(...args),
    close: () => Promise.resolve(),
  };
}
