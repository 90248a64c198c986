import type { Access, Role } from "propylon";
import { admits } from "propylon/kit";
import type { OauthResourceOptions } from "./options.ts";

/** What scopes give, as the config maps them to roles. */
export class ScopeRoles {
  /** In the order of the config, for metadata. */
  readonly known: readonly string[];
  /** With the role that each of them gives. */
  readonly roles: ReadonlyMap<string, Role>;

  constructor(scopes: OauthResourceOptions["scopes"]) {
    this.known = Object.keys(scopes);
    this.roles = new Map(Object.entries(scopes));
  }

  /**
   * Roles of a token; none where scopes count and it has none of them.
   *
   * @param own roles where scopes do not count; default: those of a caller
   */
  rolesOf(granted: readonly string[], own = EVERYONE): ReadonlySet<Role> {
    if (this.roles.size === 0) return own;
    return new Set(granted.flatMap((scope) => this.roles.get(scope) ?? []));
  }

  /** The first scope that is enough; `undefined` where none is, or none is needed. */
  enoughFor(access: Access): string | undefined {
    return this.known.find((scope) => admits({ roles: this.rolesOf([scope]) }, access));
  }

  /** What to ask for: those that count of the ones somebody has, so that none is lost on the way, and the one that is missing. */
  wanted(granted: readonly string[], access: Access): string | undefined {
    const missing = this.enoughFor(access);
    if (missing === undefined) return undefined;
    return this.known.filter((scope) => scope === missing || granted.includes(scope)).join(" ");
  }
}

const EVERYONE: ReadonlySet<Role> = new Set(["caller"]);
