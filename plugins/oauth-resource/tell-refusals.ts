import type { PluginContext } from "propylon";
import { BoundedLog } from "propylon/internal";
import type { AccessTokenFault } from "./refusal.ts";
import type { OnTokenRefusal } from "./bearers.ts";

/** Counts refused tokens, and tells the log why, as often as it can bear. */
export function tellRefusals(
  log: PluginContext["log"],
  count: (reason: AccessTokenFault) => void,
): OnTokenRefusal {
  const refusals = new BoundedLog((facts, message) => log.info(facts, message));
  return (reason, facts) => {
    count(reason);
    refusals.tell(reason, { reason, ...facts }, "a token was refused");
  };
}
