import { defineService, type Json, type Principal } from "propylon";

/** How a browser got in. */
export interface NewSession {
  /** Whose rights it has. */
  readonly principal: Principal;
  /** What is asked again with each request: the `Authorization` that the browser need not keep. Absent for a code. */
  readonly authorization?: string;
}

/** Sign-in of browsers, for web interfaces that bring a way of their own to it. */
export interface SessionsService {
  /**
   * Opens a session for a request whose credential was checked.
   *
   * @param request the request of the browser: its `Origin` decides which cookie it gets
   * @returns the value for `Set-Cookie`, and when the session ends at the latest (ISO 8601)
   * @throws {GatewayError} `forbidden` for another origin, and over plain HTTP from another machine; `rate_limited`
   */
  open(
    request: Request,
    session: NewSession,
  ): { readonly cookie: string; readonly expiresAt: string };
  /** Makes a code that signs in its bearer within 60 s, once, with every role: for the person who started the gateway. */
  createCode(): string;
  /** Ends the sessions of matching principals; how many that were. */
  end(match: (principal: Pick<Principal, "ref">) => boolean): number;
}

/** Facts that a principal who came by a session has in its `claims`. */
export interface SessionClaims extends Json {
  /** Id of the session; not its secret. */
  readonly session: string;
}

/** Service token of the sessions plugin. */
export const Sessions = defineService<SessionsService>("sessions");
