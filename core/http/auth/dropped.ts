import { isDeepStrictEqual } from "node:util";
import type { GatewayConfig } from "../../config/schema.ts";
import type { Principal } from "../../call/types.ts";
import { hasCredentials } from "./authenticator.ts";
import { MASTER } from "./keyring.ts";
import { originOf } from "./principal.ts";

/** What of a generation decides whose credentials count. */
export interface Credits {
  readonly auth: GatewayConfig["auth"];
  /** Whether a plugin authenticates too. */
  readonly provided: boolean;
}

/**
 * Whose credentials a new config takes away, or gives other rights: a key whose name is gone or whose hash or role changed, the
 * tokens of a check that is another, the people of a plugin that left, and everyone without credentials where these are needed now.
 *
 * @returns `undefined` when it is nobody's
 */
export function droppedBetween(
  before: Credits,
  after: Credits,
): ((principal: Principal) => boolean) | undefined {
  const keys = new Set(lostKeys(before.auth, after.auth));
  const tokens = before.auth.jwt !== undefined && differs(before.auth.jwt, after.auth.jwt);
  const plugin = before.provided && !after.provided;
  const anonymous =
    (isOpen(before) && !isOpen(after)) || (!before.auth.strict && after.auth.strict);
  if (keys.size === 0 && !tokens && !plugin && !anonymous) return undefined;
  return (principal) => {
    if (principal.kind === "anonymous") return anonymous;
    const { kind, ref } = principal;
    if (kind === "agent" || originOf(principal) === undefined) return false;
    if (originOf(principal) === "plugin") return plugin;
    return kind === "user" ? tokens : keys.has(ref);
  };
}

function lostKeys(before: GatewayConfig["auth"], after: GatewayConfig["auth"]): readonly string[] {
  const named = Object.keys(before.keys).filter((name) =>
    differs(before.keys[name], after.keys[name]),
  );
  const isMasterLost = before.apiKey !== undefined && before.apiKey !== after.apiKey;
  return [...named, ...(isMasterLost ? [MASTER] : [])].map((name) => `key:${name}`);
}

function isOpen({ auth, provided }: Credits): boolean {
  return !provided && !hasCredentials(auth);
}

function differs(before: unknown, after: unknown): boolean {
  return !isDeepStrictEqual(before, after);
}
