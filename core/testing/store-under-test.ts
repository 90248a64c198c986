import { randomUUID } from "node:crypto";
import { pino } from "pino";
import type { StoreDriver } from "../store/driver.ts";
import { GatewayStore } from "../store/gateway-store.ts";

/** A store under test, opened once for all cases. */
export interface StoreUnderTest {
  readonly driver: StoreDriver;
  open(): Promise<StoreDriver>;
}

/** A name that no other case uses. */
export const fresh = (): string => `test/${randomUUID()}`;

/** A name of a part of a plugin's store that no other case uses. */
export const part = (): string => fresh().slice(5, 28);

/** Texts that every store keeps as they are. */
export const TEXTS: Readonly<Record<string, string>> = {
  "an empty text": "",
  "a letter": "a",
  "a zero byte as JSON writes it": String.raw`"\u0000"`,
  quotes: `'"\`;--`,
  "line ends": "a\r\nb\nc",
  umlauts: "Größe",
  "an emoji": "👩‍💻",
  "a backslash": String.raw`\N\x00`,
  "64 KB": "x".repeat(65_536),
  "1 MB": "ü".repeat(524_288),
  "4 MB": "x".repeat(4 * 1024 * 1024),
};

/** The log of gateways under test. */
export const log = pino({ level: "silent" });

/** The driver for one replica more: it outlives that one. */
export function unclosed(driver: StoreDriver): StoreDriver {
  return new Proxy(driver, {
    get(target, name) {
      if (name === "close") return () => Promise.resolve();
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** One replica more, which has joined the others of the store. */
export async function joinStore(driver: StoreDriver): Promise<GatewayStore> {
  const gateway = new GatewayStore(unclosed(driver), log);
  await gateway.join();
  return gateway;
}

/** All of what comes, in order. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
