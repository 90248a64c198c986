import {
  type Credentials,
  type Authentication,
  type FindCredential,
  isRefusal,
  isThrottled,
} from "../plugin/authentication.ts";
import { CONNECTION, type Connected } from "./authorization.ts";
import { createPrincipal } from "../kit/principal.ts";
import { principalOf } from "./stand-in.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import type { RouteOptions, Access } from "../plugin/route.ts";
import { PERSON_ROLES, type Role, ROLES } from "../kit/roles.ts";
import type { Principal } from "../kit/types.ts";
import type { IncomingMessage } from "node:http";
import { pathOf } from "./http-messages.ts";

/** Of somebody who may do everything. */
export const ALL_ROLES: ReadonlySet<Role> = new Set(ROLES);

/** Any one of these roles satisfies the policy. */
const ENOUGH: Readonly<Record<Exclude<Access, "public" | "principal">, readonly Role[]>> = {
  viewer: PERSON_ROLES,
  caller: ["caller", "operator", "admin"],
  operator: ["operator", "admin"],
  admin: ["admin"],
  service: ["service", "admin"],
};

/**
 * Whether a principal's roles satisfy the policy of a route: viewer < caller < operator < admin, and `service` for services and
 * admins. Everyone satisfies `public`, every principal `principal`.
 *
 * @example const mayKnow = admits(event.context.principal, "operator");
 */
export function admits({ roles }: Pick<Principal, "roles">, access: Access): boolean {
  if (access === "public" || access === "principal") return true;
  for (const role of ENOUGH[access]) if (roles.has(role)) return true;
  return false;
}

/** A 403 that names the missing role, the way RFC 6750 section 3.1 names a missing scope. */
function lacksRole(
  authenticator: Authentication,
  principal: Principal | undefined,
  access: Access,
  path: string,
): GatewayError {
  const own = principal && authenticator.stepUp(path, principal, access);
  return new GatewayError("forbidden", `This needs the role "${access}".`, {
    hint: "Use credentials that have it.",
    data: { role: access },
    headers: {
      "www-authenticate": own ?? `Bearer error="insufficient_scope", scope="${access}"`,
    },
  });
}

/** Everyone, when no authentication is configured (open without a key). */
const ANONYMOUS = createPrincipal({ id: "anonymous", kind: "anonymous", roles: ALL_ROLES });

/** Lets everyone in with all rights: the default on loopback, where nothing else is configured. */
const OPEN: Authentication = {
  authenticate: () => ANONYMOUS,
  challenge: () => "Bearer",
  stepUp: () => undefined,
  admits,
};

/** What a route says about itself that decides who may use it. */
export type Policy = Pick<RouteOptions, "access" | "mutates" | "management" | "signsIn">;

/**
 * Decides who may use a route. A request is first identified, then permitted: 401 comes before 403, and the role before
 * read-only, so that nobody learns more than their role lets them.
 */
export interface Guard {
  readonly authenticator: Authentication;
  /** Whether a route answers without credentials. */
  isOpen(policy: Policy): boolean;
  /**
   * Who makes a request; `undefined` on a public route for a caller who did not say.
   * @param route path of the route as it is registered
   * @throws {GatewayError} `unauthorized`
   */
  identify(credentials: Credentials, policy: Policy, route: string): Promise<Principal | undefined>;
  /**
   * Lets somebody use a route, or not.
   * @throws {GatewayError} `forbidden` for a missing role, `read_only` for a change while changes are switched off
   */
  permit(principal: Principal | undefined, policy: Policy, path: string): void;
  /** Why somebody may not use a route; `undefined` for somebody who may. */
  refusal(principal: Principal | undefined, policy: Policy): "role" | "read_only" | undefined;
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
 * @param configured default: no authentication is configured, and everyone is let in
 * @param find what may stand in for credentials, on routes only: never at an MCP endpoint
 */
export function createGuard(
  configured: Authentication | undefined,
  { auth: { strict }, management }: Pick<GatewayConfig, "auth" | "management">,
  find?: FindCredential,
): Guard {
  const authenticator = configured ?? OPEN;
  /** Decision 0012: strict off opens what is only looked at. */
  const isLenient = ({ access, mutates }: Policy): boolean =>
    !strict && access === "viewer" && !mutates;
  const isAdmitted = (principal: Principal | undefined, policy: Policy): boolean =>
    policy.access === "public" ||
    isLenient(policy) ||
    (principal !== undefined && authenticator.admits(principal, policy.access));
  return {
    authenticator,
    isOpen: (policy) => !configured || policy.access === "public" || isLenient(policy),
    async identify(credentials, policy, route) {
      const asked = configured && find ? standingIn(configured, find, route) : authenticator;
      if (policy.access === "public") return optionally(asked, credentials, policy.signsIn);
      return authenticate(asked, credentials, isLenient(policy) ? GUEST : undefined);
    },
    permit(principal, policy, path) {
      if (!isAdmitted(principal, policy))
        throw lacksRole(authenticator, principal, policy.access, path);
      const refusal = policy.mutates ? changeRefusal(policy, management) : undefined;
      if (refusal) throw refusal;
    },
    refusal(principal, policy) {
      if (!isAdmitted(principal, policy)) return "role";
      return policy.mutates && changeRefusal(policy, management) ? "read_only" : undefined;
    },
  };
}

/** The authenticators, asked with what stands in for a request that brings no credentials. */
function standingIn(
  authenticator: Authentication,
  find: FindCredential,
  route: string,
): Authentication {
  return {
    challenge: (path, isRefused) => authenticator.challenge(path, isRefused),
    stepUp: (path, principal, access) => authenticator.stepUp(path, principal, access),
    admits: (principal, access) => authenticator.admits(principal, access),
    authenticate(credentials) {
      const brings = credentials.headers["authorization"] !== undefined;
      const standIn = brings ? undefined : find(credentials, route);
      return standIn
        ? principalOf(standIn, authenticator, credentials)
        : authenticator.authenticate(credentials);
    },
  };
}

/** Why nothing can be changed at present; `undefined` when something can. */
export function changeRefusal(
  { management: isManagement }: Pick<Policy, "management">,
  { readOnly, mutations }: GatewayConfig["management"],
): GatewayError | undefined {
  if (readOnly)
    return new GatewayError("read_only", "The gateway is read-only: nothing can be changed.", {
      hint: "Set management.readOnly: false, or start without --read-only.",
    });
  if (isManagement !== true || mutations) return undefined;
  return new GatewayError(
    "read_only",
    "The management API may not change anything: management.mutations is off.",
    { hint: "Set management.mutations: true, or start with --allow-mutations." },
  );
}

/**
 * The principal, at once where the authenticator answers at once.
 *
 * @param guest who a request without credentials is from; default: it is refused
 * @throws {GatewayError} `unauthorized` with a `www-authenticate` header
 */
function authenticate(
  authenticator: Authentication,
  credentials: Credentials,
  guest?: Principal,
): Principal | Promise<Principal> {
  let known: ReturnType<Authentication["authenticate"]>;
  try {
    known = authenticator.authenticate(credentials);
  } catch (error) {
    return challenge(authenticator, credentials, error);
  }
  if (!(known instanceof Promise))
    return known ?? guest ?? challenge(authenticator, credentials, MISSING);
  return known.then(
    (principal) => principal ?? guest ?? challenge(authenticator, credentials, MISSING),
    (error: unknown) => challenge(authenticator, credentials, error),
  );
}

const MISSING = new GatewayError("unauthorized", "Authentication is required.");

/** A 401 says how to authenticate (RFC 9110 section 11.6.1). */
function challenge(authenticator: Authentication, { path }: Credentials, error: unknown): never {
  if (!isRefusal(error)) throw error;
  const own = authenticator.challenge(path, error !== MISSING);
  const headers = { "www-authenticate": own, ...error.headers };
  throw new GatewayError("unauthorized", error.message, { headers, cause: error });
}

/**
 * Who it is, where it does not matter: a public route works without credentials, and with wrong ones.
 *
 * @param signsIn whether it matters to somebody with credentials that they are not looked at
 */
export async function optionally(
  authenticator: Authentication,
  credentials: Credentials,
  signsIn = false,
): Promise<Principal | undefined> {
  try {
    return await authenticator.authenticate(credentials);
  } catch (error) {
    const isTold = signsIn && credentials.headers["authorization"] !== undefined;
    if (isRefusal(error) || isForbidden(error) || (isThrottled(error) && !isTold)) return undefined;
    throw error;
  }
}

function isForbidden(error: unknown): boolean {
  return isGatewayError(error) && error.code === "forbidden";
}

/** The parts of Node's own request that tell who makes it. */
export function credentialsOf(req: IncomingMessage): Credentials & Connected {
  return {
    method: req.method ?? "GET",
    path: pathOf(req.url ?? "/"),
    headers: req.headers,
    remoteAddress: req.socket.remoteAddress,
    [CONNECTION]: req.socket,
  };
}

/** The check in front of the MCP endpoints: they are for callers, a viewer has other routes. */
export function createEdge(
  authenticator: Authentication,
): (req: IncomingMessage) => Principal | Promise<Principal> {
  const enter = (principal: Principal, path: string): Principal => {
    if (authenticator.admits(principal, "caller")) return principal;
    throw lacksRole(authenticator, principal, "caller", path);
  };
  return (req) => {
    const credentials = credentialsOf(req);
    const known = authenticate(authenticator, credentials);
    if (!(known instanceof Promise)) return enter(known, credentials.path);
    return known.then((principal) => enter(principal, credentials.path));
  };
}
