import { GatewayError, type Identity, type Principal } from "propylon";
import { createPrincipal, asProven } from "propylon/kit";
import { JWT, type LogFacts } from "propylon/internal";
import { qualifiedId } from "propylon/plugins/keys";
import type { Challenges } from "./challenge.ts";
import type { TokenClaims } from "./issuer/claims.ts";
import type { TokenIssuer, TokenIssuers } from "./issuer/issuers.ts";
import { invalidToken, TokenRefusal, type AccessTokenFault } from "./refusal.ts";
import { normalUrl, type Resource, type Resources } from "./resources.ts";
import type { ScopeRoles } from "./scopes.ts";

/** Told why a token was refused, with what the log is to say of it. */
export type OnTokenRefusal = (reason: AccessTokenFault, facts?: LogFacts) => void;

/** What decides about tokens that are their issuers'. */
export interface BearerParts {
  readonly issuers: TokenIssuers;
  readonly resources: () => Resources;
  readonly audiences: readonly string[];
  readonly scopes: ScopeRoles;
  readonly challenges: Challenges;
  /** Whether somebody else names people too: two issuers' "bob" are two people. */
  readonly isCrowded: () => boolean;
  /** Told why a token was refused. */
  readonly onRefusal: OnTokenRefusal;
}

/** A token whose issuer was asked, and what it said. */
export interface KnownToken {
  readonly issuer: TokenIssuer;
  readonly claims: TokenClaims;
  readonly isLive?: (() => boolean) | undefined;
  admitted: Admission | undefined;
}

/** Whom a token makes its bearer, where it was admitted last: to compare URLs costs more than all else about a known token. */
interface Admission {
  /** Of the config in force then; each has resources of its own. */
  readonly resource: Resource;
  /** The name in it. */
  readonly named: string;
  readonly identity: Identity;
}

/** Whom a token that is its issuer's makes its bearer, and what for. */
export class Bearers {
  readonly #parts: BearerParts;
  readonly #audiences: ReadonlySet<string>;

  constructor(parts: BearerParts) {
    this.#parts = parts;
    this.#audiences = new Set(parts.audiences.map(normalUrl));
  }

  /** Whether an earlier principal would be let in today with the same rights, by what its token said. */
  accepts({ ref, roles, claims }: Principal): boolean {
    const issuer = this.#parts.issuers.get(String(claims?.["issuer"]));
    const { root, endpoints } = this.#parts.resources();
    const audiences = (claims?.["audiences"] ?? []) as readonly string[];
    const resources = [root, ...endpoints.values()];
    const known = { subject: String(claims?.["subject"]), scopes: claims?.["scopes"] as string[] };
    return (
      issuer !== undefined &&
      resources.some((resource) => this.#isFor(audiences, resource)) &&
      createPrincipal({ id: this.#idOf(issuer, known.subject), kind: "user", roles }).ref === ref &&
      isSame(this.#parts.scopes.rolesOf(known.scopes, issuer.isLocal ? roles : undefined), roles)
    );
  }

  /**
   * Who a token makes its bearer at a resource.
   *
   * @throws {GatewayError} `unauthorized`, `forbidden`
   */
  identify(known: KnownToken, resource: Resource, path: string): Identity {
    const { issuer, claims, isLive, admitted } = known;
    if (isLive?.() === false)
      throw asProven(new TokenRefusal("inactive", "The token is not valid any more."));
    if (admitted?.resource === resource && !this.#isRenamed(admitted, known))
      return admitted.identity;
    this.#checkAudience(known, resource);
    this.#checkName(issuer, claims.subject);
    const roles = this.#parts.scopes.rolesOf(claims.scopes, claims.roles);
    if (roles.size === 0) throw this.#lacksScope(claims.scopes, path);
    const named = this.#idOf(issuer, claims.subject);
    const identity = identityOf(named, roles, known);
    known.admitted = { resource, named, identity };
    return identity;
  }

  /** Whether other issuers, or plugins, name people since then: that changes with the config, and while a reload is prepared. */
  #isRenamed({ named }: Admission, { issuer, claims: { subject } }: KnownToken): boolean {
    this.#checkName(issuer, subject);
    return named !== this.#idOf(issuer, subject);
  }

  #checkAudience({ issuer, claims: { audiences, client } }: KnownToken, resource: Resource): void {
    if (this.#isFor(audiences, resource)) return;
    throw asProven(
      new TokenRefusal("audience", "The token is for somebody else.", {
        facts: { issuer: issuer.name, client, expected: resource.url, got: audiences },
      }),
    );
  }

  /** RFC 8707: a token for another service, or another endpoint, must not open this one. */
  #isFor(audiences: readonly string[], { url }: Resource): boolean {
    const own = normalUrl(url);
    return audiences.some((text) => {
      const audience = normalUrl(text);
      return audience === own || this.#audiences.has(audience);
    });
  }

  #isQualified({ qualify }: TokenIssuer): boolean {
    return qualify ?? this.#parts.isCrowded();
  }

  #idOf(issuer: TokenIssuer, subject: string): string {
    return this.#isQualified(issuer) ? qualifiedId(issuer.name, subject) : subject;
  }

  /** Somebody who can choose his name at one issuer must not be able to choose that of somebody at another. */
  #checkName(issuer: TokenIssuer, subject: string): void {
    if (this.#isQualified(issuer)) return;
    const others = this.#parts.issuers.all.filter((other) => other !== issuer);
    const names = [JWT, ...others.map(({ name }) => name)];
    if (names.some((name) => subject.startsWith(qualifiedId(name, "")))) throw invalidToken();
  }

  #lacksScope(granted: readonly string[], path: string): GatewayError {
    this.#parts.onRefusal("scope", { expected: this.#parts.scopes.known, got: granted });
    return new GatewayError("forbidden", "The token has no scope that counts here.", {
      hint: "Log in again and grant what is asked for.",
      headers: { "www-authenticate": this.#parts.challenges.forbidden(path, granted, "caller") },
    });
  }
}

function identityOf(
  id: string,
  roles: Identity["roles"],
  { issuer, claims: { subject, scopes, audiences, client, grant, expiresAt } }: KnownToken,
): Identity {
  const claims = {
    issuer: issuer.url,
    subject,
    scopes,
    audiences,
    ...(client !== undefined && { client }),
    ...(grant !== undefined && { grant }),
  };
  // All calls of the token share it.
  return { id, kind: "user", roles, expiresAt, claims: Object.freeze(claims) };
}

function isSame<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): boolean {
  return one.size === other.size && [...one].every((value) => other.has(value));
}
