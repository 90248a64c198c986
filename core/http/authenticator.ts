import { isDeepStrictEqual } from "node:util";
import type { Authenticator, Credentials } from "../plugin/authentication.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError } from "../kit/errors.ts";
import { AuthenticatorChain } from "./chain.ts";
import type { Guesses } from "./guesses.ts";
import { createJwtVerifier, ForeignToken, type JwtVerifier } from "./jwt.ts";
import { type Bearer, isMistyped, readBearer } from "./key.ts";
import { digestOf } from "../kit/digest.ts";
import type { Principal } from "../kit/types.ts";
import { isJwtQualified, JWT, KEYS } from "./auth/people.ts";
import { makePrincipal, originOf } from "../call/principal.ts";
import { TrustedProxies } from "./proxies.ts";
import { ALL_ROLES } from "./guard.ts";

/** Name of the holder of `auth.apiKey`. */
export const MASTER = "api-key";

/** Names that a plugin's authenticator cannot have: they vouch for principals of the core. */
const RESERVED: ReadonlySet<string> = new Set([KEYS, JWT, "gateway"]);
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** Whether the config alone, without a plugin, tells callers apart. */
export function hasCredentials({ apiKey, keys, jwt }: GatewayConfig["auth"]): boolean {
  return apiKey !== undefined || jwt !== undefined || Object.keys(keys).length > 0;
}

/**
 * The chain of a generation: the keys and tokens of the config's `auth`, then what plugins bring, in their order.
 *
 * @param guesses counts wrong credentials, through reloads
 * @returns `undefined` when there is none: everyone is let in
 * @throws {GatewayError} `invalid` or `exists` for keys or names that cannot be used
 */
export function createChain(
  auth: GatewayConfig["auth"],
  ofPlugins: readonly Authenticator[],
  guesses?: Guesses,
): AuthenticatorChain | undefined {
  checkNames(ofPlugins);
  const links = [...configured(auth, ofPlugins), ...ofPlugins];
  if (links.length === 0) return undefined;
  const refusal = (credentials: Credentials): string => refusalOf(credentials, auth);
  const { maxFailures, trustedProxies } = auth;
  return new AuthenticatorChain(links, refusal, {
    guessing: guesses && { guesses, maxFailures },
    proxies: trustedProxies.length > 0 ? new TrustedProxies(trustedProxies) : undefined,
  });
}

function configured(
  auth: GatewayConfig["auth"],
  ofPlugins: readonly Authenticator[],
): Authenticator[] {
  const holders = createKeyring(auth);
  const verify = auth.jwt && createJwtVerifier(auth.jwt, isJwtQualified(auth.jwt, ofPlugins));
  const hasKeys = auth.apiKey !== undefined || Object.keys(auth.keys).length > 0;
  return [...(hasKeys ? [keysLink(holders)] : []), ...(verify ? [tokensLink(verify)] : [])];
}

/** Knows `auth.apiKey` and `auth.keys`. A key of our form that is damaged is nobody else's. */
function keysLink(holderOf: ReturnType<typeof createKeyring>): Authenticator {
  return {
    name: KEYS,
    plugin: undefined,
    authenticate(credentials) {
      const token = bearerOf(credentials)?.token;
      if (token === undefined) return undefined;
      const holder = holderOf(token);
      if (!holder && isMistyped(token))
        throw new GatewayError("unauthorized", "The API key is incomplete or mistyped.");
      return holder;
    },
    renew: (ref) => holderOf.all().find((holder) => holder.ref === ref),
  };
}

/** Knows the tokens that `auth.jwt` verifies; those of other issuers and keys are somebody else's. */
function tokensLink(verify: JwtVerifier): Authenticator {
  const isSigned = (credentials: Credentials): boolean => {
    const token = jwtOf(credentials);
    return token !== undefined && verify.mayBeOurs(token);
  };
  return { name: JWT, plugin: undefined, authenticate: tokenCheck(verify), isSigned };
}

function tokenCheck(verify: JwtVerifier): Authenticator["authenticate"] {
  const passOn = (error: unknown): undefined => {
    if (error instanceof ForeignToken) return undefined;
    throw error;
  };
  return (credentials) => {
    const token = jwtOf(credentials);
    if (token === undefined) return undefined;
    try {
      const known = verify(token);
      return known instanceof Promise ? known.catch(passOn) : known;
    } catch (error) {
      return passOn(error);
    }
  };
}

function bearerOf({ headers: { authorization } }: Credentials): Bearer | undefined {
  return typeof authorization === "string" ? readBearer(authorization) : undefined;
}

function jwtOf(credentials: Credentials): string | undefined {
  const bearer = bearerOf(credentials);
  return bearer && !bearer.basic && isJwt(bearer.token) ? bearer.token : undefined;
}

/** Three parts with dots between them (RFC 7515 section 3.1); no key of ours looks like that. */
function isJwt(token: string): boolean {
  return token.split(".").length === 3;
}

/** By the form of what was sent and nothing else, whoever was asked. */
function refusalOf(credentials: Credentials, { jwt }: GatewayConfig["auth"]): string {
  const bearer = bearerOf(credentials);
  if (!bearer) return "The Authorization header holds no bearer token.";
  return jwt && !bearer.basic && isJwt(bearer.token)
    ? "The token is not valid."
    : "The API key or token is wrong.";
}

function checkNames(ofPlugins: readonly Authenticator[]): void {
  const owners = new Map<string, string>();
  for (const { name, plugin = "" } of ofPlugins) {
    if (RESERVED.has(name) || !NAME.test(name))
      throw new GatewayError(
        "invalid",
        `Plugin "${plugin}" brings an authenticator of a name that cannot be used.`,
        { hint: `Write lower-case letters, digits and -; not ${[...RESERVED].join(", ")}.` },
      );
    const other = owners.get(name);
    if (other !== undefined)
      throw new GatewayError(
        "exists",
        `Plugin "${plugin}" brings the authenticator "${name}", which plugin "${other}" has already.`,
      );
    owners.set(name, plugin);
  }
}

/** What of a config and its plugins decides whose credentials count. */
export interface Credits {
  readonly auth: GatewayConfig["auth"];
  /** Those of the config and of plugins. */
  readonly links: readonly Authenticator[];
}

/**
 * Whose credentials a new config takes away, or gives other rights: a key whose name is gone or whose hash or role changed, the
 * tokens of a check that is another or whose people have other names, the people of an authenticator that left, and everyone
 * without credentials where these are needed now.
 *
 * @returns `undefined` when it is nobody's
 */
export function droppedBetween(
  before: Credits,
  after: Credits,
): ((principal: Principal) => boolean) | undefined {
  const keys = new Set(lostKeys(before.auth, after.auth));
  const tokens = before.auth.jwt !== undefined && differs(tokensOf(before), tokensOf(after));
  const left = new Set(lostAuthenticators(before, after));
  const isClosed = before.links.length === 0 && after.links.length > 0;
  const anonymous = isClosed || (!before.auth.strict && after.auth.strict);
  if (keys.size === 0 && !tokens && left.size === 0 && !anonymous) return undefined;
  return (principal) => {
    if (principal.kind === "anonymous") return anonymous;
    const origin = originOf(principal);
    if (origin === KEYS) return keys.has(principal.ref);
    if (origin === JWT) return tokens;
    return origin !== undefined && left.has(origin);
  };
}

/** How tokens are checked, and how their people are named. */
function tokensOf({ auth: { jwt }, links }: Credits): unknown {
  return jwt && { ...jwt, qualify: isJwtQualified(jwt, links) };
}

/** Another plugin's of the same name is another. */
function lostAuthenticators(before: Credits, after: Credits): readonly string[] {
  const isLost = ({ name, plugin }: Authenticator): boolean =>
    plugin !== undefined &&
    !after.links.some((each) => each.name === name && each.plugin === plugin);
  return before.links.filter(isLost).map(({ name }) => name);
}

function lostKeys(before: GatewayConfig["auth"], after: GatewayConfig["auth"]): readonly string[] {
  const named = Object.keys(before.keys).filter((name) =>
    differs(before.keys[name], after.keys[name]),
  );
  const isMasterLost = before.apiKey !== undefined && before.apiKey !== after.apiKey;
  return [...named, ...(isMasterLost ? [MASTER] : [])].map((name) => `key:${name}`);
}

function differs(before: unknown, after: unknown): boolean {
  return !isDeepStrictEqual(before, after);
}

/** Who holds a key; `undefined` when nobody does. */
interface Keyring {
  (key: string): Principal | undefined;
  /** Everybody who holds one. */
  all(): readonly Principal[];
}

/**
 * Makes the look-up of `auth.apiKey` and `auth.keys`. Keys are found by their digest, so the time it takes tells something about
 * the digest of what was sent and nothing about any key.
 *
 * @throws {GatewayError} `exists` for two names with one key
 */
export function createKeyring({ apiKey, keys }: GatewayConfig["auth"]): Keyring {
  const holders = new Map<string, Principal>();
  for (const [id, { role, hash }] of Object.entries(keys)) {
    const digest = hash.replace("sha256:", "");
    const other = holders.get(digest);
    if (other)
      throw new GatewayError("exists", `auth.keys: "${other.id}" and "${id}" have the same hash.`, {
        hint: "Give each its own key: propylon key.",
        data: { path: `auth.keys.${id}.hash` },
      });
    holders.set(digest, makePrincipal({ id, kind: "key", roles: new Set([role]) }, KEYS));
  }
  if (apiKey !== undefined) {
    if (Object.hasOwn(keys, MASTER))
      throw new GatewayError("exists", `auth.keys: "${MASTER}" is the name of auth.apiKey.`, {
        hint: "Give the key another name: two keys of one name would be one person.",
        data: { path: `auth.keys.${MASTER}` },
      });
    holders.set(
      digestOf(apiKey),
      makePrincipal({ id: MASTER, kind: "key", roles: ALL_ROLES }, KEYS),
    );
  }
  const holderOf = (key: string): Principal | undefined => holders.get(digestOf(key));
  return Object.assign(holderOf, { all: () => [...holders.values()] });
}
