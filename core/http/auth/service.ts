import type { Access } from "../route.ts";
import { defineService } from "../../plugin/service.ts";
import type { Identity, Principal } from "../../call/types.ts";

/** The parts of a request that tell who makes it. Header names are lower case. */
export interface Credentials {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly remoteAddress: string | undefined;
}

/**
 * Tells who makes a request. A plugin that `provides: AuthenticatorService` is asked before the config's own keys and tokens,
 * and those only when it knows nobody of the credentials. Runs at the HTTP edge, before any MCP message is read, because a refusal must be an HTTP 401.
 */
export interface Authenticator {
  /**
   * Returns who it is, or `undefined` for a request without credentials. The gateway adds the `ref`.
   * @throws {GatewayError} `unauthorized` for credentials that are wrong
   */
  authenticate(credentials: Credentials): Identity | undefined | Promise<Identity | undefined>;
  /** `WWW-Authenticate` value for a 401 on this path. */
  challenge(path: string): string;
  /**
   * Whether a principal of this authenticator satisfies a route's policy; the exported `admits` decides by roles. One without any
   * role is a caller in any case.
   */
  admits(principal: Principal, access: Access): boolean;
}

/** Service token of the one authenticator. */
export const AuthenticatorService = defineService<Authenticator>("authenticator");
