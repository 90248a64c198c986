/**
 * `propylon/store`: what outlives the process - the service that keeps it for plugins, and what a driver of a store fulfils. The suite
 * that proves a driver is `testStore` of `propylon/testing`.
 */

// For plugins that keep something
export {
  Store,
  type Kv,
  type KvOptions,
  type Entry,
  type Log,
  type LogOptions,
  type LogEntry,
  type Lease,
  type LeaseOptions,
  type Meter,
  type MeterOptions,
  type Topic,
  type Replica,
} from "./store/store.ts";
export { storeKey } from "./store/store-key.ts";
export type { Unsubscribe } from "./store/driver.ts";
export { Records, type RecordsOptions } from "./store/records.ts";
export { askOnce } from "./store/ask-once.ts";
export { ASK_TIMEOUTS } from "./store/ask-timeouts.ts";
export { isUnheard } from "./store/ask.ts";

// Tables
export { Database } from "./plugin/kernel-services.ts";
export type { OpenDatabase, Migration } from "./store/database.ts";

// For drivers
export type {
  StoreDriver,
  OpenStore,
  StoreHost,
  StoredValue,
  StoredEntry,
  PutOptions,
  ListOptions,
  LoggedValue,
  LogRetention,
  WorkQueue,
  QueuedItem,
  QueueDelivery,
} from "./store/driver.ts";
export type { StoreKind, StoreAbility, StoreNeed } from "./plugin/definitions.ts";
export { LocalEvents } from "./store/local-events.ts";
