import { GatewayError, type Principal } from "propylon";
import { createPrincipal, digestOf, ROLES } from "propylon/kit";
import type { KeysOptions } from "./options.ts";

/** Name of the holder of `auth.apiKey`. */
const MASTER = "api-key";

/** A holder, and what their key is and may: a digest of it with the role. */
interface Holding {
  readonly holder: Principal;
  readonly grant: string;
}

/** Who holds the key of a digest; `undefined` when nobody does. */
export interface Keyring {
  (digest: string): Principal | undefined;
  /** Everybody who holds one. */
  all(): readonly Holding[];
}

/**
 * Makes the look-up of `auth.apiKey` and `auth.keys`. Keys are found by their digest, so the time it takes tells something about
 * the digest of what was sent and nothing about any key.
 *
 * @throws {GatewayError} `exists` for two names with one key, and for a name with the key of `auth.apiKey`
 */
export function createKeyring({ apiKey, keys }: Pick<KeysOptions, "apiKey" | "keys">): Keyring {
  const holdings = new Map<string, Holding>();
  for (const [id, { role, hash }] of Object.entries(keys)) {
    const digest = hash.replace("sha256:", "");
    const other = holdings.get(digest);
    if (other) throw sameHash(other.holder.id, id);
    const holder = createPrincipal({ id, kind: "key", roles: new Set([role]) });
    holdings.set(digest, { holder, grant: `${role} ${digest}` });
  }
  if (apiKey !== undefined) {
    if (Object.hasOwn(keys, MASTER)) throw nameOfMaster();
    const digest = digestOf(apiKey);
    const other = holdings.get(digest);
    if (other) throw hashOfMaster(other.holder.id);
    const holder = createPrincipal({ id: MASTER, kind: "key", roles: new Set(ROLES) });
    holdings.set(digest, { holder, grant: digest });
  }
  const holderOf = (digest: string): Principal | undefined => holdings.get(digest)?.holder;
  return Object.assign(holderOf, { all: () => [...holdings.values()] });
}

function sameHash(one: string, other: string): GatewayError {
  return new GatewayError("exists", `auth.keys: "${one}" and "${other}" have the same hash.`, {
    hint: "Give each its own key: propylon key.",
    data: { path: `auth.keys.${other}.hash` },
  });
}

function hashOfMaster(id: string): GatewayError {
  return new GatewayError("exists", `auth.keys: "${id}" has the hash of auth.apiKey.`, {
    hint: "Give it its own key: propylon key.",
    data: { path: `auth.keys.${id}.hash` },
  });
}

function nameOfMaster(): GatewayError {
  return new GatewayError("exists", `auth.keys: "${MASTER}" is the name of auth.apiKey.`, {
    hint: "Give the key another name: two keys of one name would be one person.",
    data: { path: `auth.keys.${MASTER}` },
  });
}
