import type { PluginContext } from "propylon";
import type { Issuer } from "../bearer/issuer.ts";

/** How long a consumer may keep the public keys, in seconds. */
const MAX_AGE_S = 60;

/** Serves the public keys, for consumers that verify team tokens themselves (RFC 7517 section 5). */
export function registerJwks(gateway: PluginContext, issuer: Issuer): void {
  const options = { access: "public", mutates: false } as const;
  gateway.route("GET", "/.well-known/jwks.json", options, (event) => {
    event.res.headers.set("cache-control", `max-age=${MAX_AGE_S}`);
    const keys = [...issuer.replica.snapshot.keys.values()];
    return {
      keys: keys.flatMap(({ kid, alg, jwk }) => (jwk ? [{ ...jwk, kid, alg, use: "sig" }] : [])),
    };
  });
}
