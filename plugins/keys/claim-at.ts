import { isObject } from "propylon/kit";

type Claims = Readonly<Record<string, unknown>>;

/**
 * A claim of a token. A name with dots is that of a claim, or a path into one: `realm_access.roles`. The longest name that is there
 * wins, so a claim whose own name has dots comes first.
 *
 * @example const roles = claimAt({ realm_access: { roles: ["ops"] } }, "realm_access.roles");
 */
export function claimAt(claims: Claims, name: string): unknown {
  return find(claims, name.split("."));
}

function find(claims: Claims, names: readonly string[]): unknown {
  for (let count = names.length; count > 0; count--) {
    const name = names.slice(0, count).join(".");
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (count === names.length && value !== undefined) return value;
    const inner = isObject(value) ? find(value, names.slice(count)) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}
