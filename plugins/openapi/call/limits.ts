import type { Principal } from "propylon";
import type { RateLimitsService } from "propylon/plugins/ratelimit";
import type { Target } from "./target.ts";

/** `RateLimit-Policy` and `RateLimit` for an answer; none without the plugin ratelimit, or where no rate is about the tool. */
export function limitHeaders(
  limits: RateLimitsService | undefined,
  { server, tool }: Target,
  principal: Principal,
): Readonly<Record<string, string>> | undefined {
  return limits?.headersOf({
    method: "tools/call",
    server: server.name,
    name: tool.name,
    principal,
  });
}
