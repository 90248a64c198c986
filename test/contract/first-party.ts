import { FIRST_PARTY, importFirstParty } from "../../core/gateway/check/first-party.ts";
import type { AnyPlugin } from "../../core/index.ts";

/** Options without which a plugin would not run alone. */
export const LEAST_OPTIONS: Readonly<Record<string, Record<string, unknown>>> = {
  a2a: { listener: "main", workDir: ".", skills: [{ id: "count", command: ["wc", "-w"] }] },
  oauth: {
    provider: { issuer: "http://127.0.0.1:9", clientId: "gateway" },
    roles: { caller: "everyone" },
    secretKeys: ["a key of the tests, long enough for it"],
  },
  "oauth-resource": { issuers: { corp: { issuer: "http://127.0.0.1:9" } } },
  "team-auth": { secretKeys: ["a key of the tests, long enough for it"] },
};

/** Plugins that come with Propylon. @param names default: all */
export function importAll(
  names: readonly (typeof FIRST_PARTY)[number][] = FIRST_PARTY,
): Promise<readonly AnyPlugin[]> {
  return Promise.all(
    names.map(async (name) => (await importFirstParty(name))["default"] as AnyPlugin),
  );
}
