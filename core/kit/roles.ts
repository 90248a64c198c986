/**
 * Roles of people; each includes those before it.
 *
 * @example const accessSchema = z.enum(PERSON_ROLES);
 */
export const PERSON_ROLES = ["viewer", "caller", "operator", "admin"] as const;

/**
 * One of the roles of people.
 *
 * @example const access: PersonRole = "operator";
 */
export type PersonRole = (typeof PERSON_ROLES)[number];

/**
 * Every role: those of people, and `service` for programs.
 *
 * @example const roleSchema = z.enum(ROLES);
 */
export const ROLES = [...PERSON_ROLES, "service"] as const;

/**
 * Rights of a principal, from least to most.
 *
 * @example const roles = new Set<Role>(["caller", "operator"]);
 */
export type Role = (typeof ROLES)[number];
