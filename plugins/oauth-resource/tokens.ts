import { GatewayError, isGatewayError, type Identity, type Principal } from "propylon";
import { createPrincipal, type Authenticate, type Credentials, asProven } from "propylon/kit";
import { bearerOf, JWT, type LogFacts, readUnprovenClaims } from "propylon/internal";
import { qualifiedId, TokenMemory } from "propylon/plugins/keys";
import type { AccountsService } from "propylon/plugins/access";
import type { Challenges } from "./challenge.ts";
import type { TokenClaims } from "./issuer/claims.ts";
import type { TokenIssuer, TokenIssuers } from "./issuer/issuers.ts";
import type { Outages } from "./issuer/outages.ts";
import { invalidToken, TokenRefusal, type AccessTokenFault } from "./refusal.ts";
import { normalUrl, resourceOf, type Resource, type Resources } from "./resources.ts";
import type { ScopeRoles } from "./scopes.ts";

/** Told why a token was refused, with what the log is to say of it. */
export type OnTokenRefusal = (reason: AccessTokenFault, facts?: LogFacts) => void;

/** What tokens are checked with. */
export interface TokenParts {
  readonly issuers: TokenIssuers;
  readonly resources: () => Resources;
  readonly audiences: readonly string[];
  readonly scopes: ScopeRoles;
  readonly challenges: Challenges;
  /** Whether somebody else names people too: two issuers' "bob" are two people. */
  readonly isCrowded: () => boolean;
  /** Keeps what people may see, where a plugin does. */
  readonly accounts: AccountsService | undefined;
  readonly outages: Outages;
  /** Told why a token was refused. */
  readonly onRefusal: OnTokenRefusal;
}

/** A token whose issuer was asked, and what it said. */
interface KnownToken {
  readonly issuer: TokenIssuer;
  readonly claims: TokenClaims;
  readonly isLive?: (() => boolean) | undefined;
  admitted: Admission | undefined;
}

/** Whom a token makes its bearer, where it was admitted last: to compare URLs costs more than all else about a known token. */
interface Admission {
  /** Of the config in force then; each has resources of its own. */
  readonly resource: Resource;
  readonly identity: Identity;
}

/** Tells whose an access token is, and whether it is for what is asked. */
export class AccessTokens {
  readonly #parts: TokenParts;
  readonly #memory = new TokenMemory<KnownToken>();
  readonly #checking = new Map<string, Promise<KnownToken>>();
  readonly #audiences: ReadonlySet<string>;

  constructor(parts: TokenParts) {
    this.#parts = parts;
    this.#audiences = new Set(parts.audiences.map(normalUrl));
  }

  /** Joins the authenticators. At once for a token that was seen before. */
  readonly authenticate: Authenticate = (credentials) => {
    const bearer = bearerOf(credentials);
    if (!bearer || bearer.basic) return undefined;
    const { path } = credentials;
    const resource = resourceOf(this.#parts.resources(), path);
    if (!resource) return undefined;
    const { digest } = bearer;
    const known = this.#memory.find(digest);
    if (isKnown(known)) return this.#admit(known, resource, path);
    const issuer = this.#parts.issuers.find(bearer.token);
    if (!issuer) return undefined;
    if (known) throw this.#count(known, issuer);
    return this.#check(bearer.token, digest, issuer).then((found) =>
      this.#admit(found, resource, path),
    );
  };

  /** Whether a token is one that an issuer signs: nobody finds a right one by trying. */
  readonly isSigned = (credentials: Credentials): boolean => {
    const bearer = bearerOf(credentials);
    if (!bearer || bearer.basic) return false;
    return this.#parts.issuers.find(bearer.token)?.check.isSigned === true;
  };

  /** Says nothing, and tells the log of a token of an issuer that nobody knows: what the config calls it may be another spelling. */
  readonly refusal = (credentials: Credentials): undefined => {
    const token = bearerOf(credentials)?.token;
    const got = token === undefined ? undefined : readUnprovenClaims(token)?.["iss"];
    if (typeof got !== "string" || this.#parts.issuers.get(got)) return;
    const expected = this.#parts.issuers.all.map(({ url }) => url);
    this.#parts.onRefusal("issuer", { expected, got });
  };

  /** Whether a principal of before would be let in today with the same rights, by what its token said. */
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

  /** Once for all who send the same token at the same time. */
  #check(token: string, digest: string, issuer: TokenIssuer): Promise<KnownToken> {
    const running = this.#checking.get(digest);
    if (running) return running;
    const checking = this.#ask(token, digest, issuer).finally(() => this.#checking.delete(digest));
    this.#checking.set(digest, checking);
    return checking;
  }

  async #ask(token: string, digest: string, issuer: TokenIssuer): Promise<KnownToken> {
    try {
      const { url } = issuer;
      const { claims, until, isLive, isCurrent } = await issuer.check.check(token);
      this.#parts.outages.answered(issuer.name);
      const known: KnownToken = { issuer, claims, isLive, admitted: undefined };
      this.#memory.keep(digest, known, {
        until,
        holder: qualifiedId(issuer.name, claims.subject),
        // A reload may put another in its place, of the same name.
        isCurrent: () => this.#parts.issuers.isCurrent(issuer, url) && isCurrent?.() !== false,
      });
      return known;
    } catch (error) {
      if (error instanceof TokenRefusal && error.reason === "expired")
        this.#memory.keepOver(digest, error);
      if (isGatewayError(error) && error.code === "upstream_error")
        this.#parts.outages.failed(issuer.name, error);
      throw this.#count(error, issuer);
    }
  }

  #admit(known: KnownToken, resource: Resource, path: string): Identity | Promise<Identity> {
    const identity = this.#counted(() => this.#identify(known, resource, path));
    return this.#parts.accounts?.admit(identity) ?? identity;
  }

  #identify(known: KnownToken, resource: Resource, path: string): Identity {
    const { issuer, claims, isLive, admitted } = known;
    if (isLive?.() === false)
      throw asProven(new TokenRefusal("inactive", "The token is not valid any more."));
    if (admitted?.resource === resource && !this.#isRenamed(admitted, known))
      return admitted.identity;
    this.#checkAudience(known, resource);
    this.#checkName(issuer, claims.subject);
    const roles = this.#parts.scopes.rolesOf(claims.scopes, claims.roles);
    if (roles.size === 0) throw this.#lacksScope(claims.scopes, path);
    const id = this.#idOf(issuer, claims.subject);
    const identity = identityOf(id, roles, known);
    known.admitted = { resource, identity };
    return identity;
  }

  /** Whether other issuers, or plugins, name people since then: that changes with the config, and while a reload is prepared. */
  #isRenamed({ identity }: Admission, { issuer, claims: { subject } }: KnownToken): boolean {
    this.#checkName(issuer, subject);
    return identity.id !== this.#idOf(issuer, subject);
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

  #counted<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#count(error);
    }
  }

  #count(error: unknown, issuer?: TokenIssuer): unknown {
    const of = issuer && { issuer: issuer.name };
    if (error instanceof TokenRefusal)
      this.#parts.onRefusal(error.reason, { ...of, ...error.facts });
    else if (!isGatewayError(error) || error.code !== "forbidden")
      this.#parts.onRefusal("unchecked");
    return error;
  }
}

function isKnown(found: KnownToken | GatewayError | undefined): found is KnownToken {
  return found !== undefined && !(found instanceof GatewayError);
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
