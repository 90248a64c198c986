import type { Logger } from "pino";
import { pause } from "propylon/kit";
import type { ServerParts } from "./endpoints/parts.ts";

const INTERVAL_MS = 60_000;
/** How often what ran out is looked for, in rounds. */
const TIDY_ROUNDS = 30;

/** Opens what is in the store, and looks after it. @returns what ends it */
export async function startUpkeep(
  { ring, grants, registrations, provider }: ServerParts,
  log: Logger,
): Promise<() => Promise<void>> {
  const over = new AbortController();
  const stops = [await ring.open(), await grants.open(), await registrations.open()];
  void provider.warm();
  const look = async (): Promise<void> => {
    for (let round = 1; !over.signal.aborted; round++) {
      await pause(INTERVAL_MS, over.signal);
      if (over.signal.aborted) return;
      try {
        await ring.rotateIfDue();
        if (round % TIDY_ROUNDS === 0) await Promise.all([grants.tidy(), registrations.tidy()]);
      } catch (error) {
        log.warn(
          { err: error },
          "the keys and logins of oauth could not be looked after; again in a minute",
        );
      }
    }
  };
  const looking = look();
  return async () => {
    over.abort();
    await looking;
    for (const stop of stops) await stop();
  };
}
