import type { Authenticator } from "./service.ts";
import type { GatewayConfig } from "../../config/schema.ts";
import { GatewayError } from "../../errors.ts";
import { readBearer } from "./bearer.ts";
import { chain, type Authentication } from "./chain.ts";
import { createJwtVerifier } from "./jwt.ts";
import { isMistyped } from "./key.ts";
import { createKeyring } from "./keyring.ts";
import { createPrincipal } from "./principal.ts";
import { admits, ALL_ROLES } from "./roles.ts";

/** Everyone, when no authentication is configured (open without a key). */
const ANONYMOUS = createPrincipal({ id: "anonymous", kind: "anonymous", roles: ALL_ROLES });

/** Whether the config alone, without a plugin, tells callers apart. */
export function hasCredentials({ apiKey, keys, jwt }: GatewayConfig["auth"]): boolean {
  return apiKey !== undefined || jwt !== undefined || Object.keys(keys).length > 0;
}

/**
 * The one authenticator of a generation: what the config's `auth` knows, behind that of a plugin if there is one.
 *
 * @returns `undefined` when there is neither: everyone is let in
 * @throws {GatewayError} `invalid` or `exists` for keys that cannot be used
 */
export function createAuthenticator(
  auth: GatewayConfig["auth"],
  provided: Authenticator | undefined,
): Authentication | undefined {
  const own = hasCredentials(auth) ? configuredAuthenticator(auth) : undefined;
  return provided ? chain(provided, own) : own;
}

/** Lets everyone in with all rights: the default on loopback, where nothing else is configured. */
export const OPEN: Authentication = {
  authenticate: () => ANONYMOUS,
  challenge: () => "Bearer",
  admits,
};

/** Lets in who sends `auth.apiKey`, one of `auth.keys`, or a token that `auth.jwt` verifies. */
function configuredAuthenticator(auth: GatewayConfig["auth"]): Authentication {
  const holderOf = createKeyring(auth);
  const verify = auth.jwt && createJwtVerifier(auth.jwt);
  return {
    authenticate({ headers: { authorization } }) {
      if (authorization === undefined) return undefined;
      const bearer = typeof authorization === "string" ? readBearer(authorization) : undefined;
      const holder = bearer && holderOf(bearer.token);
      if (holder) return holder;
      if (verify && bearer && !bearer.basic && isJwt(bearer.token)) return verify(bearer.token);
      throw new GatewayError("unauthorized", refusalOf(bearer?.token));
    },
    challenge: () => 'Bearer realm="propylon"',
    admits,
  };
}

/** Three parts with dots between them (RFC 7515 section 3.1); no key of ours looks like that. */
function isJwt(token: string): boolean {
  return token.split(".").length === 3;
}

function refusalOf(token: string | undefined): string {
  if (token === undefined) return "The Authorization header holds no bearer token.";
  return isMistyped(token)
    ? "The API key is incomplete or mistyped."
    : "The API key or token is wrong.";
}
