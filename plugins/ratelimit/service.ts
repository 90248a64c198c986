import { defineService, type Call } from "propylon";

/** What is left of the limits. */
export interface RateLimitsService {
  /**
   * `ratelimit-policy` and `ratelimit` (draft-ietf-httpapi-ratelimit-headers) for the caller of this call, as it stands now;
   * takes nothing. Empty when no rate is about such a call.
   */
  headersOf(
    call: Pick<Call, "method" | "server" | "name" | "principal">,
  ): Readonly<Record<string, string>>;
}

/** Service token of the ratelimit plugin, for faces that tell their clients what is left. */
export const RateLimits = defineService<RateLimitsService>("ratelimits");
