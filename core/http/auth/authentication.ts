import { isGatewayError, type GatewayError } from "../../errors.ts";
import type { Access } from "../route.ts";
import type { Identity, Principal } from "../../call/types.ts";

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
 * What else an authenticator may decide.
 *
 * @example gateway.authenticator("directory", authenticate, { challenge: () => 'Bearer realm="directory"' });
 */
export interface AuthenticatorOptions {
  /** `WWW-Authenticate` value for a 401 on this path; default: `Bearer realm="propylon"`. */
  readonly challenge?: (path: string) => string;
  /**
   * Whether a principal of this authenticator satisfies a route's policy; default: by its roles, see {@link admits}. One without
   * any role is a caller in any case.
   */
  readonly admits?: (principal: Principal, access: Access) => boolean;
  /**
   * What is said to credentials that no authenticator knows; the first that answers is heard. `undefined`: they are not of a form
   * that this one takes. Default: the gateway's own words.
   */
  readonly refusal?: (credentials: Credentials) => string | undefined;
}

/** One of the chain. */
export interface Authenticator extends AuthenticatorOptions {
  /** Unique in a gateway. */
  readonly name: string;
  /** Name of the plugin that brings it; `undefined` for those of the config. */
  readonly plugin: string | undefined;
  readonly authenticate: Authenticate;
}

/** Decides who makes a request and what they may, for a whole listener. */
export interface Authentication {
  /**
   * Returns who it is, or `undefined` for a request without credentials.
   * @throws {GatewayError} `unauthorized` for credentials that are wrong
   */
  authenticate(credentials: Credentials): Known;
  /** `WWW-Authenticate` value for a 401 on this path. */
  challenge(path: string): string;
  /** Whether a principal satisfies a route's policy. */
  admits(principal: Principal, access: Access): boolean;
}

/** What an {@link Authentication} answers. */
export type Known = Principal | undefined | Promise<Principal | undefined>;

/** Whether somebody's credentials were refused, in contrast to a check that could not be made. */
export function isRefusal(error: unknown): error is GatewayError {
  return isGatewayError(error) && error.code === "unauthorized";
}
