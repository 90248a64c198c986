import { GatewayError } from "../errors.ts";
import type { Identity, Principal } from "../types.ts";

/** A closed set, and none holds a colon: the first colon of a ref ends the kind, whatever the id holds. */
const KINDS: ReadonlySet<string> = new Set<Principal["kind"]>([
  "anonymous",
  "key",
  "user",
  "team",
  "agent",
  "service",
]);

/** The one form in which the core hands principals on: the `ref` always belongs to the kind and the id. */
class KnownPrincipal implements Principal {
  readonly id: string;
  readonly kind: Principal["kind"];
  readonly ref: string;
  readonly roles: Principal["roles"];
  declare readonly claims?: NonNullable<Principal["claims"]>;
  declare readonly expiresAt?: number;

  constructor({ id, kind, roles, claims, expiresAt }: Identity) {
    this.id = id;
    this.kind = kind;
    this.ref = `${kind}:${id}`;
    this.roles = roles;
    if (claims !== undefined) this.claims = claims;
    if (expiresAt !== undefined) this.expiresAt = expiresAt;
    Object.freeze(this);
  }
}

/**
 * Makes a principal of what is known about somebody: sets its `ref`, so that no two people share one. What this function made
 * already comes back as it is. The gateway does it for authenticators and for `gateway.call`; plugins need it where they hand a
 * principal of their own to another plugin.
 *
 * @throws {GatewayError} `internal` for an unknown kind or an id that is no text: such principals could not be told apart
 */
export function createPrincipal(identity: Identity): Principal {
  if (identity instanceof KnownPrincipal) return identity;
  const { id, kind } = identity;
  if (KINDS.has(kind) && typeof id === "string" && id !== "") return new KnownPrincipal(identity);
  throw new GatewayError("internal", "A plugin named a principal without a known kind and an id.", {
    hint: `Return a kind (${[...KINDS].join(", ")}) and an id that is a text and not empty.`,
  });
}
