import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Store } from "propylon/store";

/** Marks a server's state that we bound. */
const PREFIX = "propylon-state.";
/** 256 bits in base64url. */
const MAC_LENGTH = 43;

/** For whom and for what a server gave its `requestState`. */
export interface StateOwner {
  readonly principal: { readonly ref: string };
  readonly method: string;
  readonly route: { readonly server: { readonly name: string }; readonly name: string };
}

/**
 * A server's `requestState` as its client gets it. The server sees one client, the gateway, and takes a state from any bearer
 * of it; so it is bound to the principal it was given to, and to the request it continues (2026-07-28, security of `requestState`).
 *
 * The key is in the store: who was asked a question may answer it after a restart, or at another replica.
 */
export class RequestStates {
  #key: Uint8Array = randomBytes(32);
  /** Of this process, for what was bound before the store was read. */
  readonly #own = this.#key;

  constructor(store: Store) {
    if (!store.durable && !store.shared) return;
    // While the store is away a state lives as long as the process: its client sends the request again after that.
    readKey(store).then(
      (key) => (this.#key = key),
      () => undefined,
    );
  }

  /** What the client gets. */
  bind(state: string, owner: StateOwner): string {
    return PREFIX + macOf(state, owner, this.#key).toString("base64url") + state;
  }

  /** The server's own state again; `undefined` for one that was not given to this principal for this request. */
  unbind(bound: string, owner: StateOwner): string | undefined {
    if (!bound.startsWith(PREFIX)) return undefined;
    const state = bound.slice(PREFIX.length + MAC_LENGTH);
    const mac = Buffer.from(bound.slice(PREFIX.length, PREFIX.length + MAC_LENGTH), "base64url");
    const isOurs = [this.#key, this.#own].some((key) => {
      const expected = macOf(state, owner, key);
      return mac.length === expected.length && timingSafeEqual(mac, expected);
    });
    return isOurs ? state : undefined;
  }
}

/** The key of all replicas of a store; the one that comes first makes it. */
async function readKey(store: Store): Promise<Buffer> {
  const keys = store.kv<string>("keys");
  const fresh = randomBytes(32).toString("base64url");
  await keys.create("request-state", fresh);
  const entry = await keys.get("request-state");
  return Buffer.from(entry?.value ?? fresh, "base64url");
}

function macOf(state: string, { principal, method, route }: StateOwner, key: Uint8Array): Buffer {
  // As JSON, so that no two different lists are one text.
  const what = JSON.stringify([principal.ref, method, route.server.name, route.name, state]);
  return createHmac("sha256", key).update(what).digest();
}
