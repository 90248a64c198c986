import type { PathIssue } from "./issue.ts";
import type { GatewayConfig } from "./schema.ts";

/**
 * Plugins that are there without a word in the config: keys of `plugins` that are `{}` unless it says otherwise, `false` to do
 * without. They are set up before all others and leave after them; lists of plugins are about the others. They have no metrics of their own.
 */
export const DEFAULT_PLUGINS: readonly string[] = ["keys", "servers", "mcp", "tasks"];

/**
 * The one of them that checks the credentials of the config's `auth`. What it brings has no plugin of its own in lists, and a config
 * with credentials is refused without it.
 */
export const AUTH_PLUGIN = "keys";

/**
 * Name of the authenticator of `auth.apiKey` and `auth.keys`. It knows keys, and no people.
 *
 * @example const others = authenticators.filter(({ name }) => name !== KEYS);
 */
export const KEYS = "keys";

/**
 * Name of the authenticator of `auth.jwt`; no other issuer has it.
 *
 * @example const name = qualifiedId(JWT, "ada"); // jwt:ada
 */
export const JWT = "jwt";

/**
 * Server types of plugins that come with Propylon: an entry of `servers` with such a `type` brings its plugin along, unless another
 * plugin in use has the type or the config says `false`.
 */
export const TYPE_PLUGINS: ReadonlyMap<string, string> = new Map([
  ["stdio", "servers"],
  ["http", "servers"],
  ["a2a", "a2a-client"],
  ["openapi", "rest"],
]);

/** The same for stores: what the config's `store` begins with. */
export const STORE_PLUGINS: ReadonlyMap<string, string> = new Map([
  ["sqlite", "sqlite"],
  ["postgres", "postgres"],
  ["postgresql", "postgres"],
  ["redis", "redis"],
  ["rediss", "redis"],
  ["nats", "nats"],
]);

/** The same for entries of `servers` with `auth`. */
export const LOGIN_PLUGIN = "oauth-client";

/** Whether a plugin belongs to entries of `servers` or a `store`. */
export function comesAlong(key: string): boolean {
  return [...TYPE_PLUGINS.values(), ...STORE_PLUGINS.values(), LOGIN_PLUGIN].includes(key);
}

/** What a `store` begins with: the scheme of its URL. */
export function schemeOf(store: string): string {
  return /^[a-z][a-z0-9+-]*(?=:)/.exec(store)?.[0] ?? store;
}

/** Whether a key of `plugins` is one of {@link DEFAULT_PLUGINS}. */
export function isDefault(key: string): boolean {
  return DEFAULT_PLUGINS.includes(key);
}

/** Those of some plugins that the config asked for. */
export function chosen<P extends { readonly key: string }>(plugins: readonly P[]): readonly P[] {
  return plugins.filter(({ key }) => !isDefault(key));
}

type Auth = GatewayConfig["auth"];

/** The options of the plugin that checks credentials. */
export function credentialsIn({ apiKey, keys, jwt }: Auth): Pick<Auth, "apiKey" | "keys" | "jwt"> {
  return { ...(apiKey !== undefined && { apiKey }), keys, ...(jwt && { jwt }) };
}

/** Whether the config alone, without a plugin of its own, tells callers apart. */
export function hasCredentials(auth: Auth): boolean {
  return membersOf(auth).length > 0;
}

/**
 * What is wrong with credentials that nothing checks. A gateway without them lets everyone in, so a config that has some never runs
 * without what reads them.
 *
 * @param checked names of the authenticators that do
 */
export function uncheckedCredentials(auth: Auth, checked: readonly string[]): PathIssue[] {
  return membersOf(auth)
    .filter(({ by }) => !checked.includes(by))
    .map(({ member }) => ({
      path: ["auth", member],
      at: "key",
      message: `Nothing checks auth.${member}: the plugin keys is off, or another one has its name.`,
      hint: `Leave out plugins.keys, or take auth.${member} out.`,
    }));
}

/** The credentials that are there, with the authenticator of each. */
function membersOf({
  apiKey,
  keys,
  jwt,
}: Auth): { readonly member: string; readonly by: string }[] {
  return [
    ...(apiKey === undefined ? [] : [{ member: "apiKey", by: KEYS }]),
    ...(Object.keys(keys).length === 0 ? [] : [{ member: "keys", by: KEYS }]),
    ...(jwt === undefined ? [] : [{ member: "jwt", by: JWT }]),
  ];
}
