import { GatewayError } from "./errors.ts";
import type { Identity, Principal } from "./types.ts";

/** A closed set, and none holds a colon: the first colon of a ref ends the kind, whatever the id holds. */
const KINDS: ReadonlySet<string> = new Set<Principal["kind"]>([
  "anonymous",
  "key",
  "user",
  "team",
  "agent",
  "service",
]);

/** Counts principals and requests, so that those from before and after an event can be told apart. */
let made = 0;

/** The one form in which the core hands principals on: the `ref` always belongs to the kind and the id. */
class KnownPrincipal implements Principal {
  readonly id: string;
  readonly kind: Principal["kind"];
  readonly ref: string;
  readonly roles: Principal["roles"];
  declare readonly claims?: NonNullable<Principal["claims"]>;
  declare readonly expiresAt?: number;
  readonly #stamp: number;
  readonly #origin: string | undefined;

  constructor(
    { id, kind, roles, claims, expiresAt }: Identity,
    origin: string | undefined,
    stamp: number,
  ) {
    this.id = id;
    this.kind = kind;
    this.ref = `${kind}:${id}`;
    this.roles = roles;
    if (claims !== undefined) this.claims = claims;
    if (expiresAt !== undefined) this.expiresAt = expiresAt;
    this.#stamp = stamp;
    this.#origin = origin;
    Object.freeze(this);
  }

  static stampOf(principal: Principal): number {
    return principal instanceof KnownPrincipal ? principal.#stamp : made;
  }

  static originOf(principal: Principal): string | undefined {
    return principal instanceof KnownPrincipal ? principal.#origin : undefined;
  }
}

/**
 * Makes a principal of what is known about somebody: sets its `ref`, so that no two people share one. What this function made
 * already comes back as it is. The gateway does it for authenticators and for `gateway.call`; plugins need it where they hand a
 * principal of their own to another plugin.
 *
 * @throws {GatewayError} `internal` for an unknown kind or an id that is not a text: such principals could not be told apart
 *
 * @example const ANYBODY = createPrincipal({ id: "anonymous", kind: "anonymous", roles: new Set() });
 */
export function createPrincipal(identity: Identity): Principal {
  return makePrincipal(identity);
}

/**
 * The parts of a {@link Principal.ref}, for code that kept nothing else. The first colon ends the kind: an id may hold more.
 *
 * @returns what was written, known or not; {@link createPrincipal} refuses an unknown kind
 *
 * @example createPrincipal({ ...readRef("user:ada"), roles: new Set() });
 */
export function readRef(ref: string): Pick<Identity, "kind" | "id"> {
  const colon = ref.indexOf(":");
  return { kind: ref.slice(0, Math.max(0, colon)) as Identity["kind"], id: ref.slice(colon + 1) };
}

/**
 * {@link createPrincipal}, with the name of the authenticator that vouches for it.
 *
 * @param stamp of {@link takeStamp}, from before the authenticator was asked: an answer that takes its time may have been true
 * before an event, and is not known to be true after. Default: now
 */
export function makePrincipal(identity: Identity, origin?: string, stamp?: number): Principal {
  if (identity instanceof KnownPrincipal && isVouched(identity, origin, stamp)) return identity;
  const { id, kind } = identity;
  if (KINDS.has(kind) && typeof id === "string" && id !== "")
    return new KnownPrincipal(identity, origin, stamp ?? takeStamp());
  throw new GatewayError("internal", "A plugin named a principal without a known kind and an id.", {
    hint: `Return a kind (${[...KINDS].join(", ")}) and an id that is a text and not empty.`,
  });
}

/** An authenticator vouches itself, also for a principal that a plugin was handed somewhere. */
function isVouched(principal: Principal, origin?: string, stamp?: number): boolean {
  if (stamp !== undefined && stampOf(principal) > stamp) return false;
  return origin === undefined || originOf(principal) === origin;
}

/** A point in time for a principal that is made later: what is withdrawn from now on is withdrawn from it, too. */
export function takeStamp(): number {
  return made++;
}

/** The point in time from which a principal is. */
export function stampOf(principal: Principal): number {
  return KnownPrincipal.stampOf(principal);
}

/** A point in time between the making of principals. */
export function stampNow(): number {
  return made;
}

/** Whether a principal was made before a point in time, i.e. by an earlier authenticator. */
export function wasMadeBefore(principal: Principal, stamp: number): boolean {
  return stampOf(principal) < stamp;
}

/** Name of the authenticator that vouches for a principal; `undefined` for one that no authenticator made. */
export function originOf(principal: Principal): string | undefined {
  return KnownPrincipal.originOf(principal);
}
