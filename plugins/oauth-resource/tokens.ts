import { GatewayError, isGatewayError, type Identity, type Principal } from "propylon";
import type { Authenticate, Credentials } from "propylon/kit";
import { bearerOf, readUnprovenClaims } from "propylon/internal";
import { qualifiedId, TokenMemory } from "propylon/plugins/keys";
import type { AccountsService } from "propylon/plugins/access";
import { type BearerParts, Bearers, type KnownToken } from "./bearers.ts";
import type { TokenIssuer } from "./issuer/issuers.ts";
import type { Outages } from "./issuer/outages.ts";
import { TokenRefusal } from "./refusal.ts";
import { resourceOf, type Resource } from "./resources.ts";

/** What tokens are checked with. */
export interface TokenParts extends BearerParts {
  /** Keeps what people may see, where a plugin does. */
  readonly accounts: AccountsService | undefined;
  readonly outages: Outages;
}

/** Tells whose an access token is, and whether it is for what is asked. */
export class AccessTokens {
  readonly #parts: TokenParts;
  readonly #memory = new TokenMemory<KnownToken>();
  readonly #checking = new Map<string, Promise<KnownToken>>();
  readonly #bearers: Bearers;

  constructor(parts: TokenParts) {
    this.#parts = parts;
    this.#bearers = new Bearers(parts);
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

  /** Whether an earlier principal would be let in today with the same rights, by what its token said. */
  accepts(principal: Principal): boolean {
    return this.#bearers.accepts(principal);
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
    const identity = this.#counted(() => this.#bearers.identify(known, resource, path));
    return this.#parts.accounts?.admit(identity) ?? identity;
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
