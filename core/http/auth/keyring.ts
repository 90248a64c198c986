import type { GatewayConfig } from "../../config/schema.ts";
import { GatewayError } from "../../errors.ts";
import type { Principal } from "../../call/types.ts";
import { digestOf } from "./key.ts";
import { makePrincipal } from "./principal.ts";
import { ALL_ROLES } from "./roles.ts";

/** Name of the authenticator of `auth.apiKey` and `auth.keys`. */
export const KEYS = "keys";

/** Name of the holder of `auth.apiKey`. */
export const MASTER = "api-key";

/** Who holds a key; `undefined` when nobody does. */
export type Keyring = (key: string) => Principal | undefined;

/**
 * Makes the look-up of `auth.apiKey` and `auth.keys`. Keys are found by their digest, so the time it takes tells something about
 * the digest of what was sent and nothing about any key.
 *
 * @throws {GatewayError} `exists` for two names with one key
 */
export function createKeyring({ apiKey, keys }: GatewayConfig["auth"]): Keyring {
  const holders = new Map<string, Principal>();
  for (const [id, { role, hash }] of Object.entries(keys)) {
    const digest = hash.replace("sha256:", "");
    const other = holders.get(digest);
    if (other)
      throw new GatewayError("exists", `auth.keys: "${other.id}" and "${id}" have the same hash.`, {
        hint: "Give each its own key: propylon key.",
        data: { path: `auth.keys.${id}.hash` },
      });
    holders.set(digest, makePrincipal({ id, kind: "key", roles: new Set([role]) }, KEYS));
  }
  if (apiKey !== undefined) {
    if (Object.hasOwn(keys, MASTER))
      throw new GatewayError("exists", `auth.keys: "${MASTER}" is the name of auth.apiKey.`, {
        hint: "Give the key another name: two keys of one name would be one person.",
        data: { path: `auth.keys.${MASTER}` },
      });
    holders.set(
      digestOf(apiKey),
      makePrincipal({ id: MASTER, kind: "key", roles: ALL_ROLES }, KEYS),
    );
  }
  return (key) => holders.get(digestOf(key));
}
