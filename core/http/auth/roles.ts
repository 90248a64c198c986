import { GatewayError } from "../../errors.ts";
import type { Access } from "../route.ts";
import type { Principal, Role } from "../../call/types.ts";

/** Every role there is. */
export const ALL_ROLES: ReadonlySet<Role> = new Set([
  "viewer",
  "caller",
  "operator",
  "admin",
  "service",
]);

/** Any one of these roles satisfies the policy. */
const ENOUGH: Readonly<Record<Exclude<Access, "public" | "principal">, readonly Role[]>> = {
  viewer: ["viewer", "caller", "operator", "admin"],
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
export function lacksRole(access: Access): GatewayError {
  return new GatewayError("forbidden", `This needs the role "${access}".`, {
    hint: "Use credentials that have it.",
    data: { role: access },
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${access}"` },
  });
}
