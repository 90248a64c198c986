import { definePlugin } from "propylon";
import { Authenticators } from "propylon/kit";
import { createAuthenticators } from "./authenticators.ts";
import { commands } from "./commands.ts";
import { optionsSchema } from "./options.ts";

export { claimAt } from "./claim-at.ts";
export { KeySet } from "./key-set.ts";
export { isCrowded, isJwtQualified, qualifiedId } from "./people.ts";
export { TokenMemory } from "./token-memory.ts";
export {
  believedUntil,
  CLOCK_TOLERANCE_S,
  isOfKind,
  PUBLIC_KEY_ALGORITHMS,
} from "./token-rules.ts";

/** Lets in who has a key or a signed token of the config's `auth`. On by default. */
export default definePlugin({
  name: "keys",
  config: optionsSchema,
  section: "auth",
  commands,
  setup(gateway) {
    for (const authenticator of createAuthenticators(gateway.config))
      gateway.add(Authenticators, authenticator);
  },
});
