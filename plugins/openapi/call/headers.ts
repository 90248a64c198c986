import type { Json } from "propylon";
import { matchesWildcard } from "propylon/kit";
import type { OpenapiOptions } from "../options.ts";

/** Headers that are for the gateway, or for the connection to it (RFC 9110 section 7.6.1). */
const NEVER = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "x-api-key",
  "propylon-identity",
  "host",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "content-type",
  "content-encoding",
  "accept-encoding",
]);

/** Names that credentials have, those of proxies that log people in too: passed only where they are named in full. */
const SECRETS = [
  "*token*",
  "*secret*",
  "*password*",
  "*credential*",
  "*assertion*",
  "*jwt*",
  "*api-key*",
  "*apikey*",
  "*auth*",
  "*session*",
  "*cookie*",
  "*signature*",
  "*client-cert*",
];

/** The headers of a request that a server is to get, for `_meta` of the call; `undefined` without any. */
export function forwardedHeaders(
  rule: OpenapiOptions["forwardHeaders"][string] | undefined,
  headers: Headers,
): Json | undefined {
  if (!rule) return undefined;
  const kept = [...headers].filter(
    ([name]) => !NEVER.has(name) && isAllowed(rule.allow, name) && !matches(rule.deny, name),
  );
  return kept.length === 0 ? undefined : { headers: Object.fromEntries(kept) };
}

function isAllowed(patterns: readonly string[], name: string): boolean {
  if (!matches(SECRETS, name)) return matches(patterns, name);
  return patterns.some((pattern) => pattern.toLowerCase() === name);
}

function matches(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesWildcard(pattern.toLowerCase(), name));
}
