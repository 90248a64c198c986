import type { Principal, Role } from "../kit/types.ts";
import type { Access } from "./route.ts";

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
