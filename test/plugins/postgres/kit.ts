import { randomUUID } from "node:crypto";
import { pino } from "pino";
import type { StoreDriver } from "propylon/store";
import { onTestFinished } from "vitest";
import { openPostgres } from "../../../plugins/postgres/driver.ts";
import { optionsSchema } from "../../../plugins/postgres/options.ts";
import { freePort } from "../../../core/testing/index.ts";
import { postgresFolder, startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { requirePresent } from "../../fixtures/programs.ts";

export { until } from "../../kit/until.ts";

/** Whether this machine can run a server; tests that need one are skipped by name without. */
export const hasPostgres = postgresFolder() !== undefined;

/** Skips the running test without PostgreSQL; in CI it fails. */
export function requirePostgres(): void {
  requirePresent("PostgreSQL", hasPostgres);
}

/** A server of this test. */
export async function startServer(
  settings?: Readonly<Record<string, string>>,
): Promise<PostgresServer> {
  requirePostgres();
  const server = await startPostgres(await freePort(), settings);
  onTestFinished(() => server.stop());
  return server;
}

/** A name for a schema that nobody else has. */
export function freshSchema(): string {
  return `s${randomUUID().replaceAll("-", "")}`;
}

const silent = pino({ level: "silent" });

/** A driver that nobody closes. */
export function openDriver(url: string, schema: string, log = silent): Promise<StoreDriver> {
  const options = optionsSchema.parse({ schema });
  return openPostgres(url, { folder: process.cwd(), options, log });
}

/** A driver that is closed at the end of the running test. */
export async function driverOf(url: string, schema: string, log = silent): Promise<StoreDriver> {
  const driver = await openDriver(url, schema, log);
  onTestFinished(() => driver.close());
  return driver;
}
