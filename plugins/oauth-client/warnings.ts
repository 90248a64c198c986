import type { PluginContext } from "propylon";
import { Checks } from "propylon/kit";
import type { Store } from "propylon/store";

/** Tells what should not stay as it is. */
export function warnOfPassingLogins(
  { add }: Pick<PluginContext, "add">,
  store: Store,
  isSealLasting: boolean,
): void {
  const problem = !store.durable
    ? "logins end with the process, because the store is memory"
    : !isSealLasting
      ? "logins end with the process, because secretKeys is not set"
      : undefined;
  add(Checks, {
    name: "oauth-client",
    ask: () =>
      problem === undefined
        ? undefined
        : {
            message: `oauth-client: ${problem}.`,
            path: ["plugins", "oauth-client"],
            hint: "Set a store and plugins.oauth-client.secretKeys to keep them.",
          },
  });
}
