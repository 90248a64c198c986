import { GatewayError } from "propylon";
import { type Credentials, digestOf } from "propylon/kit";
import {
  type AuthenticatorDefinition,
  type Bearer,
  bearerOf,
  EVERYBODY,
  KEYS,
  JWT,
} from "propylon/internal";
import { createJwtVerifier, UnclaimedToken, type JwtVerifier } from "./jwt.ts";
import { isMistyped } from "./key.ts";
import { createKeyring } from "./keyring.ts";
import type { KeysOptions } from "./options.ts";
import { isJwtQualified } from "./people.ts";

type JwtOptions = NonNullable<KeysOptions["jwt"]>;

/**
 * Who knows the credentials of the config: one for its keys, one for its tokens.
 *
 * @throws {GatewayError} `invalid` or `exists` for keys that cannot be used
 */
export function createAuthenticators({
  apiKey,
  keys,
  jwt,
}: KeysOptions): AuthenticatorDefinition[] {
  const hasKeys = apiKey !== undefined || Object.keys(keys).length > 0;
  return [
    ...(hasKeys ? [keysAuthenticator({ apiKey, keys })] : []),
    ...(jwt ? [tokensAuthenticator(jwt)] : []),
  ];
}

/** Knows `auth.apiKey` and `auth.keys`. A key of our form that is damaged is nobody else's. */
function keysAuthenticator(options: Pick<KeysOptions, "apiKey" | "keys">): AuthenticatorDefinition {
  const holderOf = createKeyring(options);
  const all = holderOf.all();
  return {
    name: KEYS,
    authenticate(credentials) {
      const bearer = bearerOf(credentials);
      if (bearer === undefined) return undefined;
      const holder = holderOf(bearer.digest);
      if (!holder && isMistyped(bearer.token))
        throw new GatewayError("unauthorized", "The API key is incomplete or mistyped.");
      return holder;
    },
    renew: (ref) => all.find(({ holder }) => holder.ref === ref)?.holder,
    grants: new Map(all.map(({ holder, grant }) => [holder.ref, grant])),
  };
}

/** Knows the tokens that `auth.jwt` verifies; those of other issuers and keys are somebody else's. */
function tokensAuthenticator(options: JwtOptions): AuthenticatorDefinition {
  const plain = createJwtVerifier(options);
  let qualified: JwtVerifier | undefined;
  return {
    ...tokensOf(plain, options, false),
    among(all) {
      if (!isJwtQualified(options, all)) return tokensOf(plain, options, false);
      qualified ??= createJwtVerifier(options, true);
      return tokensOf(qualified, options, true);
    },
  };
}

function tokensOf(
  verify: JwtVerifier,
  options: JwtOptions,
  isQualified: boolean,
): AuthenticatorDefinition {
  return {
    name: JWT,
    authenticate: tokenCheck(verify),
    isSigned: (credentials) => {
      const sent = jwtOf(credentials);
      return sent !== undefined && verify.mayBeOurs(sent.token);
    },
    refusal: (credentials) =>
      jwtOf(credentials) === undefined ? undefined : "The token is not valid.",
    // How tokens are checked, and how their people are named.
    grants: new Map([[EVERYBODY, digestOf(JSON.stringify([options, isQualified]))]]),
  };
}

function tokenCheck(verify: JwtVerifier): AuthenticatorDefinition["authenticate"] {
  const passOn = (error: unknown): undefined => {
    if (error instanceof UnclaimedToken) return undefined;
    throw error;
  };
  return (credentials) => {
    const sent = jwtOf(credentials);
    if (sent === undefined) return undefined;
    try {
      const known = verify(sent.token, sent.digest);
      return known instanceof Promise ? known.catch(passOn) : known;
    } catch (error) {
      return passOn(error);
    }
  };
}

function jwtOf(credentials: Credentials): Bearer | undefined {
  const bearer = bearerOf(credentials);
  return bearer && !bearer.basic && isJwt(bearer.token) ? bearer : undefined;
}

/** Three parts with dots between them (RFC 7515 section 3.1); no key of ours looks like that. */
function isJwt(token: string): boolean {
  return token.split(".").length === 3;
}
