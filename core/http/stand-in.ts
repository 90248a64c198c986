import {
  type Authentication,
  type Credentials,
  type StandIn,
  isRefusal,
} from "../plugin/authentication.ts";
import type { Principal } from "../kit/types.ts";
import { makePrincipal, originOf, stampOf } from "../kit/principal.ts";

/**
 * Who a request is from that something stands in for. The credential is asked again each time, so that the rights are those of this
 * moment, and a client that loses it loses this, too.
 *
 * @throws {GatewayError} what the authenticators say; `unauthorized` when the credential is no longer good
 */
export async function principalOf(
  standIn: StandIn,
  authenticator: Authentication,
  credentials: Credentials,
): Promise<Principal | undefined> {
  const { authorization, identity } = standIn;
  if (authorization === undefined) return identity && bound(makePrincipal(identity), standIn);
  const headers = { ...credentials.headers, authorization };
  try {
    const known = await authenticator.authenticate({ ...credentials, headers });
    return known && bound(known, standIn);
  } catch (error) {
    if (isRefusal(error)) standIn.refused?.();
    throw error;
  }
}

/** The principal, for as long as what stands in lasts. It keeps the authenticator that vouches for it, and its time. */
function bound(principal: Principal, { expiresAt, claims }: StandIn): Principal {
  const until = Math.min(expiresAt, principal.expiresAt ?? Number.POSITIVE_INFINITY);
  const all = { ...principal.claims, ...claims };
  const identity = { ...principal, claims: all, expiresAt: until };
  return makePrincipal(identity, originOf(principal), stampOf(principal));
}
