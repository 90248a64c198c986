import type { Credentials } from "./auth/authentication.ts";
import type { Authentication } from "./auth/chain.ts";
import { createPrincipal } from "./auth/principal.ts";
import { lacksRole } from "./auth/roles.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import type { RouteOptions } from "./route.ts";
import type { Principal } from "../call/types.ts";
import { authenticate, optionally } from "./edge.ts";

/** What a route says about itself that decides who may use it. */
export type Policy = Pick<RouteOptions, "access" | "mutates" | "management">;

/**
 * Decides who may use a route. A request is first identified, then permitted: 401 comes before 403, and the role before
 * read-only, so that nobody learns more than their role lets them.
 */
export interface Guard {
  readonly authenticator: Authentication;
  /** Whether a route answers without credentials. */
  isOpen(policy: Policy): boolean;
  /**
   * Who makes a request; `undefined` on a public route for whoever did not say.
   * @throws {GatewayError} `unauthorized`
   */
  identify(credentials: Credentials, policy: Policy): Promise<Principal | undefined>;
  /**
   * Lets somebody use a route, or not.
   * @throws {GatewayError} `forbidden` for a missing role, `read_only` for a change while changes are switched off
   */
  permit(principal: Principal | undefined, policy: Policy): void;
}

/** Somebody without credentials on a public route. */
export const NOBODY = createPrincipal({ id: "anonymous", kind: "anonymous", roles: new Set() });

/** Somebody without credentials on a route that `auth.strict: false` leaves open. */
const GUEST = createPrincipal({
  id: "anonymous",
  kind: "anonymous",
  roles: new Set(["viewer"]),
});

/**
 * Makes the guard of a generation.
 *
 * @param open whether everyone is let in, because no authentication is configured
 */
export function createGuard(
  authenticator: Authentication,
  open: boolean,
  { auth: { strict }, management }: Pick<GatewayConfig, "auth" | "management">,
): Guard {
  /** Decision 0012: strict off opens what is only looked at. */
  const isLenient = ({ access, mutates }: Policy): boolean =>
    !strict && access === "viewer" && !mutates;
  return {
    authenticator,
    isOpen: (policy) => open || policy.access === "public" || isLenient(policy),
    async identify(credentials, policy) {
      if (policy.access === "public") return optionally(authenticator, credentials);
      return authenticate(authenticator, credentials, isLenient(policy) ? GUEST : undefined);
    },
    permit(principal, policy) {
      const { access } = policy;
      const isAdmitted =
        access === "public" ||
        isLenient(policy) ||
        (principal !== undefined && authenticator.admits(principal, access));
      if (!isAdmitted) throw lacksRole(access);
      if (policy.mutates) permitChange(policy, management);
    },
  };
}

function permitChange(
  { management: isManagement }: Policy,
  { readOnly, mutations }: GatewayConfig["management"],
): void {
  if (readOnly)
    throw new GatewayError("read_only", "The gateway is read-only: nothing can be changed.", {
      hint: "Set management.readOnly: false, or start without --read-only.",
    });
  if (isManagement === true && !mutations)
    throw new GatewayError(
      "read_only",
      "The management API may not change anything: management.mutations is off.",
      { hint: "Set management.mutations: true, or start with --allow-mutations." },
    );
}
