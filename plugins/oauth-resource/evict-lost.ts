import type { PluginContext, Principal } from "propylon";
import type { Management } from "propylon/kit";
import type { AccessTokens } from "./tokens.ts";

/** After a reload ends what was opened with an earlier token, and is not for everyone any more who has one. */
export function evictLost(
  { hook }: Pick<PluginContext, "hook">,
  management: Pick<Management, "evict">,
  tokens: AccessTokens,
): void {
  const isLost = (principal: Principal): boolean =>
    Array.isArray(principal.claims?.["audiences"]) && !tokens.accepts(principal);
  const reason = "The token does not count any more: the configuration has changed.";
  // One that is being asked about, or whose request has a slow body, came before as well.
  hook("reload:done", () => void management.evict(isLost, reason, { withdraw: true }));
}
