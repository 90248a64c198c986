import { randomUUID } from "node:crypto";
import { pino } from "pino";
import type { StoreDriver } from "propylon/store";
import { onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { openRedis } from "../../../plugins/redis/driver.ts";
import { optionsSchema } from "../../../plugins/redis/options.ts";
import { hasProgram, requireProgram } from "../../fixtures/programs.ts";
import { startRedis } from "../../fixtures/redis/redis.mjs";
import type { RedisServer } from "../../fixtures/redis/types.ts";

/** Whether this machine can run a server; tests that need one are skipped by name without. */
export const hasRedis = hasProgram("redis-server");

/** A server of the running test. */
export async function startServer(
  settings?: Readonly<Record<string, string>>,
): Promise<RedisServer> {
  requireProgram("redis-server");
  const server = await startRedis(await freePort(), settings);
  onTestFinished(() => server.stop());
  return server;
}

/** A prefix that nobody else has. */
export function freshPrefix(): string {
  return randomUUID();
}

const silent = pino({ level: "silent" });

/** A driver that nobody closes. */
export function openDriver(url: string, prefix: string, log = silent): Promise<StoreDriver> {
  return openRedis(url, { folder: process.cwd(), options: optionsSchema.parse({ prefix }), log });
}

/** A driver that is closed at the end of the running test. */
export async function driverOf(url: string, prefix: string, log = silent): Promise<StoreDriver> {
  const driver = await openDriver(url, prefix, log);
  onTestFinished(() => driver.close());
  return driver;
}
