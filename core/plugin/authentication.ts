import { isGatewayError, type GatewayError } from "../kit/errors.ts";
import type { Access } from "./route.ts";
import type { Identity, Json, Principal } from "../kit/types.ts";

/**
 * The parts of a request that tell who makes it. Header names are lower case.
 *
 * @example
 * const tokenOf = ({ headers }: Credentials): string | undefined =>
 *   /^Bearer (\S+)$/.exec(String(headers["authorization"]))?.[1];
 */
export interface Credentials {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly remoteAddress: string | undefined;
}

/**
 * Tells who makes a request, before anything of it is read but its head.
 *
 * - `undefined`: not mine, e.g. no credentials, or those of another form. The next authenticator is asked.
 * - a throw of `unauthorized`: mine and wrong. The request is refused with these words, and nobody else is asked.
 * - a throw of `forbidden`: mine and right, and good for nothing here, e.g. a token without a scope that counts. As above, with 403.
 * - an identity: mine. The gateway adds the `ref`.
 *
 * Any other throw means that it could not be found out: the request is refused with that error, and nobody else is asked.
 *
 * @example
 * const byTicket: Authenticate = ({ headers }) =>
 *   headers["x-ticket"] === TICKET ? { id: "door", kind: "service", roles: new Set(["caller"]) } : undefined;
 */
export type Authenticate = (
  credentials: Credentials,
) => Identity | undefined | Promise<Identity | undefined>;

/**
 * What stands in for the credentials that a request does not bring itself: an `Authorization` that the authenticators are asked
 * with, or somebody whom the plugin vouches for.
 *
 * @example
 * const standIn: StandIn = { authorization: session.authorization, expiresAt: session.expiresAt, claims: { session: session.id } };
 */
export interface StandIn {
  readonly authorization?: string | undefined;
  /** Counts without {@link authorization}. */
  readonly identity?: Identity | undefined;
  /** When it ends at the latest, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** Joins the claims of the principal. */
  readonly claims?: Json;
  /** Called when the authenticators refuse the {@link authorization}: it is of no use any more. */
  refused?(): void;
}

/**
 * Finds what stands in for the credentials of a request to a route; see {@link StandIns}.
 *
 * @param route path of the route as it is registered
 * @throws {GatewayError} `forbidden` for a request that must not have it
 * @example const find: FindCredential = ({ headers }, route) => (route.startsWith("/ui") ? lookUp(headers["cookie"]) : undefined);
 */
export type FindCredential = (credentials: Credentials, route: string) => StandIn | undefined;

/**
 * What else an authenticator may decide.
 *
 * @example gateway.add(Authenticators, { name: "directory", authenticate, challenge: () => 'Bearer realm="directory"' });
 */
export interface AuthenticatorOptions {
  /**
   * `WWW-Authenticate` value for a 401 on this path; `undefined` leaves it to the next authenticator. Default: `Bearer
   * realm="propylon"`.
   *
   * @param isRefused whether credentials were sent, and are wrong (RFC 6750 section 3.1, `invalid_token`)
   */
  readonly challenge?: (path: string, isRefused: boolean) => string | undefined;
  /**
   * `WWW-Authenticate` value for a 403 on this path: what one of its principals needs to get in (RFC 6750 section 3.1,
   * `insufficient_scope`). Default: the name of the role as `scope`.
   */
  readonly stepUp?: (path: string, principal: Principal, access: Access) => string;
  /**
   * Whether a principal of this authenticator satisfies a route's policy; default: by its roles, see {@link admits}. One without
   * any role is a caller in any case.
   */
  readonly admits?: (principal: Principal, access: Access) => boolean;
  /**
   * Whether credentials are signed, so that nobody finds right ones by trying. Those are looked at, some at a time, also where too
   * many credentials were wrong of late.
   */
  readonly isSigned?: (credentials: Credentials) => boolean;
  /**
   * What is said to credentials that no authenticator knows; the first that answers is heard. `undefined`: they are not of a form
   * that this one takes. Default: the gateway's own words.
   */
  readonly refusal?: (credentials: Credentials) => string | undefined;
  /** Who has a ref now, with the rights of now. Default: that cannot be told without the credential. */
  readonly renew?: (ref: string) => Identity | undefined;
  /**
   * What the credentials of its principals are, as digests by `ref`, or under {@link EVERYBODY} for all. Where a new config has
   * another digest or none, what that principal has open ends. Default: nothing ends while the plugin stays.
   */
  readonly grants?: ReadonlyMap<string, string>;
  /**
   * What it is beside the other authenticators of a config. Called once for each config, also for one that is only looked at. A throw
   * refuses the config. Default: the same as without them.
   *
   * @param all of the config, itself included
   */
  readonly among?: (all: readonly { readonly name: string }[]) => AuthenticatorDefinition;
}

/**
 * Whom a grant is about that is about all; see {@link AuthenticatorOptions.grants}.
 *
 * @example const grants = new Map([[EVERYBODY, digestOf(secret)]]);
 */
export const EVERYBODY = "*";

/**
 * What a plugin adds to {@link Authenticators}.
 *
 * @example
 * const nobody: AuthenticatorDefinition = { name: "nobody", authenticate: () => undefined };
 */
export interface AuthenticatorDefinition extends AuthenticatorOptions {
  /** Unique in the gateway, in lower case with hyphens; `GET /_meta` shows it. */
  readonly name: string;
  readonly authenticate: Authenticate;
}

/** One of the chain. */
export interface Authenticator extends AuthenticatorDefinition {
  /** Name of the plugin that brings it; `undefined` for those of the config's `auth`. */
  readonly plugin: string | undefined;
}

/** Decides who makes a request and what they may, for a whole listener. */
export interface Authentication {
  /**
   * Returns who it is, or `undefined` for a request without credentials.
   * @throws {GatewayError} `unauthorized` for credentials that are wrong
   */
  authenticate(credentials: Credentials): Known;
  /** `WWW-Authenticate` value for a 401 on this path; `isRefused` for wrong credentials, in contrast to none. */
  challenge(path: string, isRefused: boolean): string;
  /** `WWW-Authenticate` value for a 403 on this path; `undefined`: the name of the role. */
  stepUp(path: string, principal: Principal, access: Access): string | undefined;
  /** Whether a principal satisfies a route's policy. */
  admits(principal: Principal, access: Access): boolean;
}

/** What an {@link Authentication} answers. */
export type Known = Principal | undefined | Promise<Principal | undefined>;

/** Whether nobody was asked, because too many credentials were wrong before. */
export function isThrottled(error: unknown): boolean {
  return isGatewayError(error) && error.code === "rate_limited";
}

const proven = new WeakSet<Error>();

/**
 * Marks the refusal of credentials that are real, e.g. of a token with the right signature that has expired: who sends them does not
 * guess, so nobody else at the address is held up for it.
 *
 * @returns the error
 *
 * @example throw asProven(new GatewayError("unauthorized", "The token has expired."));
 */
export function asProven<T extends Error>(refusal: T): T {
  proven.add(refusal);
  return refusal;
}

/** Whether a refusal, or the one that it tells in other words, is about credentials that are real. */
export function isProven(refusal: Error): boolean {
  const { cause } = refusal;
  return proven.has(refusal) || (cause instanceof Error && proven.has(cause));
}

/** Whether somebody's credentials were refused, in contrast to a check that could not be made. */
export function isRefusal(error: unknown): error is GatewayError {
  return isGatewayError(error) && error.code === "unauthorized";
}

/** What was met: the bound of an address, or the one of tokens that begin alike. */
export type GuessBound = "address" | "token";
