import { isDeepStrictEqual } from "node:util";
import type { GatewayConfig } from "../../config/schema.ts";
import type { Principal } from "../../call/types.ts";
import { hasCredentials, KEYS, MASTER } from "./authenticator.ts";
import { JWT } from "./jwt.ts";
import { originOf } from "./principal.ts";

/** What of a generation decides whose credentials count. */
export interface Credits {
  readonly auth: GatewayConfig["auth"];
  /** Authenticators of plugins by name, with their plugin. */
  readonly plugins: ReadonlyMap<string, string>;
}

/**
 * Whose credentials a new config takes away, or gives other rights: a key whose name is gone or whose hash or role changed, the
 * tokens of a check that is another, the people of an authenticator that left, and everyone without credentials where these are
 * needed now.
 *
 * @returns `undefined` when it is nobody's
 */
export function droppedBetween(
  before: Credits,
  after: Credits,
): ((principal: Principal) => boolean) | undefined {
  const keys = new Set(lostKeys(before.auth, after.auth));
  const tokens = before.auth.jwt !== undefined && differs(before.auth.jwt, after.auth.jwt);
  const left = new Set(lostAuthenticators(before, after));
  const anonymous =
    (isOpen(before) && !isOpen(after)) || (!before.auth.strict && after.auth.strict);
  if (keys.size === 0 && !tokens && left.size === 0 && !anonymous) return undefined;
  return (principal) => {
    if (principal.kind === "anonymous") return anonymous;
    const origin = originOf(principal);
    if (origin === KEYS) return keys.has(principal.ref);
    if (origin === JWT) return tokens;
    return origin !== undefined && left.has(origin);
  };
}

/** Another plugin's of the same name is another. */
function lostAuthenticators(before: Credits, after: Credits): readonly string[] {
  return [...before.plugins]
    .filter(([name, plugin]) => after.plugins.get(name) !== plugin)
    .map(([name]) => name);
}

function lostKeys(before: GatewayConfig["auth"], after: GatewayConfig["auth"]): readonly string[] {
  const named = Object.keys(before.keys).filter((name) =>
    differs(before.keys[name], after.keys[name]),
  );
  const isMasterLost = before.apiKey !== undefined && before.apiKey !== after.apiKey;
  return [...named, ...(isMasterLost ? [MASTER] : [])].map((name) => `key:${name}`);
}

function isOpen({ auth, plugins }: Credits): boolean {
  return plugins.size === 0 && !hasCredentials(auth);
}

function differs(before: unknown, after: unknown): boolean {
  return !isDeepStrictEqual(before, after);
}
