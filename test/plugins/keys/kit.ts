import { createChain as createOf } from "../../../core/http/authenticator.ts";
import type { GatewayConfig } from "../../../core/index.ts";
import type { Authenticator } from "../../../core/plugin/authentication.ts";
import { createAuthenticators } from "../../../plugins/keys/authenticators.ts";

/** The chain of a gateway with this `auth` and these authenticators of other plugins. */
export function createChain(auth: GatewayConfig["auth"], others: readonly Authenticator[]) {
  const own = createAuthenticators(auth).map((each) => ({ ...each, plugin: undefined }));
  return createOf(auth, [...own, ...others]);
}
