import type { JWTPayload } from "jose";
import { defineService, type Role } from "propylon";

/** What a token of this gateway's own authorization server says, once it is known to be one. */
export interface LocalToken {
  readonly payload: JWTPayload;
  /** Id of the login that it is part of. */
  readonly grant: string;
  /** What its person may, where scopes do not say it. */
  readonly roles: ReadonlySet<Role>;
  /** Whether it counts still; asked with every request. */
  readonly isLive: () => boolean;
}

/** The gateway's own authorization server. */
export interface LocalIssuer {
  /** Stands in front of the names of its people. */
  readonly name: string;
  /** `iss` of its tokens; it changes with the gateway's public URL. */
  readonly url: () => string;
  /** Rejects with an error of jose for a token that it did not make. */
  verify(token: string): Promise<LocalToken>;
}

/** What an authorization server in the gateway has to know, and where it joins. */
export interface OauthResourceService {
  /** URL of the gateway as a whole. */
  root(): string;
  /** URLs of what people log in to (RFC 8707). */
  resources(): readonly string[];
  /** Those of them that are MCP endpoints. */
  endpoints(): readonly string[];
  /** Scopes with the role that each gives; none where scopes do not count. */
  readonly scopes: ReadonlyMap<string, Role>;
  /** Lets people in with tokens of this gateway's own. @returns what ends that */
  accept(issuer: LocalIssuer): () => void;
}

/** Service token of the plugin: `inject: { resource: OauthResource }`. */
export const OauthResource = defineService<OauthResourceService>("oauth-resource");
