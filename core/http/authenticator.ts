import { type Authenticator, type Credentials, EVERYBODY } from "../plugin/authentication.ts";
import { AUTH_PLUGIN, hasCredentials, JWT, KEYS } from "../config/defaults.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError } from "../kit/errors.ts";
import { bearerOf } from "./authorization.ts";
import { AuthenticatorChain } from "./chain.ts";
import type { Guesses } from "./guesses.ts";
import type { Principal } from "../kit/types.ts";
import { originOf } from "../kit/principal.ts";
import { readAuthenticator } from "../plugin/kernel-points.ts";
import { TrustedProxies } from "./proxies.ts";

/** Names of those that know the credentials of the config. */
const OWN: readonly string[] = [KEYS, JWT];
/** Names that no other can have. */
const RESERVED: readonly string[] = [...OWN, "gateway"];
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

type Auth = GatewayConfig["auth"];

/**
 * The chain of a generation: those who know the credentials of the config's `auth`, then the others, in the order of the plugins.
 *
 * @param guesses counts wrong credentials, through reloads
 * @returns `undefined` for a config without credentials and without authenticators: everyone is let in. With credentials that nobody
 * knows there is a chain, which lets nobody in
 * @throws {GatewayError} `invalid` or `exists` for names that cannot be used, and what an authenticator throws beside the others;
 * `invalid` where that is not an authenticator
 */
export function createChain(
  auth: Auth,
  added: readonly Authenticator[],
  guesses?: Guesses,
): AuthenticatorChain | undefined {
  if (added.length === 0 && !hasCredentials(auth)) return undefined;
  checkNames(added);
  const own = added.filter(({ plugin }) => plugin === undefined);
  const others = added.filter(({ plugin }) => plugin !== undefined);
  const links = [...own, ...others].map((link) => beside(link, added));
  const { maxFailures, trustedProxies } = auth;
  return new AuthenticatorChain(links, refusalOf, {
    guessing: guesses && { guesses, maxFailures },
    proxies: trustedProxies.length > 0 ? new TrustedProxies(trustedProxies) : undefined,
  });
}

/** What is said to credentials that nobody claims: by the form of what was sent and nothing else. */
function refusalOf(credentials: Credentials): string {
  return bearerOf(credentials)
    ? "The API key or token is wrong."
    : "The Authorization header holds no bearer token.";
}

/** It keeps its name, and whose it is. */
function beside(link: Authenticator, all: readonly Authenticator[]): Authenticator {
  const { name, plugin, among } = link;
  if (!among) return link;
  const other = among(all);
  // Refused below; that it also fails later ends no process.
  if (other instanceof Promise) other.catch(() => {});
  return { ...link, ...readAuthenticator(plugin ?? AUTH_PLUGIN, other), name, plugin };
}

/** @throws {GatewayError} `invalid` for a name that cannot be used, `exists` for one that two have */
function checkNames(added: readonly Authenticator[]): void {
  const owners = new Map<string, string>();
  for (const { name, plugin } of added) {
    const owner = plugin ?? AUTH_PLUGIN;
    if (!isFree(name, plugin))
      throw new GatewayError(
        "invalid",
        `Plugin "${owner}" brings an authenticator of a name that cannot be used.`,
        { hint: `Write lower-case letters, digits and -; not ${RESERVED.join(", ")}.` },
      );
    const other = owners.get(name);
    if (other !== undefined)
      throw new GatewayError(
        "exists",
        `Plugin "${owner}" brings the authenticator "${name}", which plugin "${other}" has already.`,
      );
    owners.set(name, owner);
  }
}

/** Stored principals are told apart by the name of who vouched for them: those of the config are nobody else's. */
function isFree(name: string, plugin: string | undefined): boolean {
  return plugin === undefined ? OWN.includes(name) : NAME.test(name) && !RESERVED.includes(name);
}

/** What of a config and its plugins decides whose credentials count. */
export interface Credits {
  /** `auth.strict`: whether looking takes credentials. */
  readonly strict: boolean;
  /** Those of the config and of plugins. */
  readonly links: readonly Authenticator[];
}

/**
 * Whose credentials a new config withdraws, or gives other rights: what an authenticator granted and grants no more, the people of
 * one that left, and everyone without credentials where these are needed now.
 *
 * @returns `undefined` when it is nobody's
 */
export function droppedBetween(
  before: Credits,
  after: Credits,
): ((principal: Principal) => boolean) | undefined {
  const dropped = new Map(
    before.links.map((link) => [link.name, droppedRefs(link, after.links)] as const),
  );
  const isClosed = before.links.length === 0 && after.links.length > 0;
  const anonymous = isClosed || (!before.strict && after.strict);
  if (!anonymous && [...dropped.values()].every((refs) => refs.size === 0)) return undefined;
  return (principal) => {
    if (principal.kind === "anonymous") return anonymous;
    const refs = dropped.get(originOf(principal) ?? "");
    return refs !== undefined && (refs.has(EVERYBODY) || refs.has(principal.ref));
  };
}

/** Of one authenticator, by `ref`. Another plugin's of the same name is another. */
function droppedRefs(before: Authenticator, after: readonly Authenticator[]): ReadonlySet<string> {
  const now = after.find(({ name, plugin }) => name === before.name && plugin === before.plugin);
  if (!now) return new Set([EVERYBODY]);
  const granted = [...(before.grants ?? [])];
  return new Set(
    granted.filter(([ref, grant]) => now.grants?.get(ref) !== grant).map(([ref]) => ref),
  );
}
