import { pino } from "pino";
import { onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { NatsDriver } from "../../../plugins/nats/driver.ts";
import { optionsSchema, natsSettingsOf } from "../../../plugins/nats/options.ts";
import type { Timing } from "../../../plugins/nats/store/timing.ts";
import { startNats } from "../../fixtures/nats/nats.mjs";
import type { NatsServer } from "../../fixtures/nats/types.ts";
import { requireProgram } from "../../fixtures/programs.ts";

export { until } from "../../kit/until.ts";

/** Options of the plugin as a config has them, and how long things take. */
export type Wanted = Record<string, unknown> & { readonly timing?: Partial<Timing> };

/** A driver, closed at the end by whoever opens it. @param lines gets what it logs */
export function openDriver(
  url: string,
  { timing, ...options }: Wanted = {},
  lines: string[] = [],
): Promise<NatsDriver> {
  const all = optionsSchema.parse(options);
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  return NatsDriver.open(natsSettingsOf(all, url, process.cwd()), all.prefix, log, timing);
}

/** A driver of this test. */
export async function useDriver(
  url: string,
  wanted?: Wanted,
  lines?: string[],
): Promise<NatsDriver> {
  const driver = await openDriver(url, wanted, lines);
  onTestFinished(() => driver.close());
  return driver;
}

/** A nats-server of this test. @param config text of its config file */
export async function useServer(config?: string): Promise<NatsServer> {
  requireProgram("nats-server");
  const server = await startNats(await freePort(), config);
  onTestFinished(() => server.stop());
  return server;
}
