import type { Call } from "propylon";
import type { UpstreamConfig } from "../connection/dial.ts";
import type { Assertions } from "../connection/identity.ts";

/**
 * What tells a server who makes a call; `undefined` for one that is not told.
 *
 * @param issuer who says so
 */
export function identifier(
  assertions: Assertions,
  issuer: () => string,
  server: string,
  config: UpstreamConfig,
): ((call: Call) => Promise<Call>) | undefined {
  if (config.identity === undefined) return undefined;
  assertions.isUsed = true;
  const audience = audienceOf(server, config);
  return (call) => assertions.identify(call, { issuer: issuer(), audience });
}

/** Whom an assertion is for: no server can use one at another. */
function audienceOf(server: string, config: UpstreamConfig): string {
  if ("command" in config) return `urn:propylon:server:${server}`;
  const url = new URL(config.url);
  url.username = "";
  url.password = "";
  return url.href;
}
